/** `GET /v1/models`. */
import { describe, expect, test } from "vitest";
import { modalitiesOf } from "../../src/core/model.js";
import { chatModel, imageModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";
import { hello, json, serve } from "./serve.js";

const completions = "/v1/chat/completions";

describe("GET /v1/models", () => {
  const models = [chatModel("org/chat"), imageModel("image-1")];

  test("lists what the caller may use", async () => {
    const server = await serve(scripted({ chat: says("Hi") }, models));
    expect(await json(await server.get("/v1/models"))).toEqual({
      object: "list",
      data: ["image-1", "org/chat"].map((id) => ({
        id,
        object: "model",
        created: 1_700_000_000,
        owned_by: "lintel",
        ...(id === "image-1" && {
          architecture: {
            modality: "text->image",
            input_modalities: ["text"],
            output_modalities: ["image"],
          },
        }),
      })),
    });
  });

  test("tells what a model takes and gives, where that is known", async () => {
    const drawing = modalitiesOf(["modalities", "image_url", "file", "input_audio"]);
    const drawn = chatModel("draws", drawing);
    const writes = chatModel("writes", modalitiesOf(["temperature"]));
    const server = await serve(scripted({ chat: says("Hi") }, [drawn, writes, chatModel("any")]));
    const { data } = await json(await server.get("/v1/models"));
    expect(data.map(({ architecture }: { architecture: unknown }) => architecture)).toEqual([
      undefined,
      {
        modality: "text+image+file+audio->text+image",
        input_modalities: ["text", "image", "file", "audio"],
        output_modalities: ["text", "image"],
      },
      { modality: "text->text", input_modalities: ["text"], output_modalities: ["text"] },
    ]);
  });

  test("tells how much a model holds, where that is known", async () => {
    const chat = chatModel("m", { contextLength: 4096, maxTokens: 99 });
    const server = await serve(scripted({ chat: says("Hi") }, [chat]));
    expect(await json(await server.get("/v1/models/m"))).toMatchObject({
      ...{ id: "m", context_length: 4096, max_model_len: 4096, max_completion_tokens: 99 },
    });
  });

  test.each(["/v1/models/org/chat", "/v1/models/org%2Fchat"])("%s is one of them", async (path) => {
    const server = await serve(scripted({ chat: says("Hi") }, models));
    expect(await json(await server.get(path))).toMatchObject({ id: "org/chat", object: "model" });
  });

  test("a name that a wildcard fits is one of them", async () => {
    const core = { models: [{ name: "org/chat", aliases: ["gpt-3.5-*"] }] };
    const server = await serve(scripted({ chat: says("Hi") }, models), { core });
    const id = "gpt-3.5-turbo";
    expect((await server.post(completions, hello({ model: id }))).status).toBe(200);
    expect(await json(await server.get(`/v1/models/${id}`))).toMatchObject({ id, object: "model" });
    expect((await server.get("/v1/models/gpt-4")).status).toBe(404);
    const none = await server.get("/v1/models/");
    expect(none.status).toBe(404);
    expect((await json(none)).error).toMatchObject({
      message: "there is no GET /v1/models/ here, but GET /v1/models",
      code: "not_found",
    });
  });

  test("404 model_not_found", async () => {
    const server = await serve(scripted({ chat: says("Hi") }, models));
    const response = await server.get("/v1/models/none");
    expect(response.status).toBe(404);
    expect((await json(response)).error).toMatchObject({ code: "model_not_found", param: "model" });
  });
});
