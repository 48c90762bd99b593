/** OpenAI's paths where Azure's clients ask, with keys as they send them. */
import { describe, expect, test } from "vitest";
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import { chatModel, imageModel } from "../support/models.js";
import { paints, says, scripted } from "../support/scripted.js";
import { asked } from "./asked.js";
import { hello, json, serve } from "./serve.js";

const version = "api-version=2024-10-21";
const at = (deployment: string, what = "chat/completions") =>
  `/openai/deployments/${deployment}/${what}?${version}`;

/** A gateway with a chat model in whose name are slashes, and an image model. */
const gateway = () =>
  serve(
    scripted({ chat: says("Hi"), streamTextToImage: paints() }, [
      chatModel("org/chat/completions"),
      chatModel("chat-1"),
      imageModel("image-1"),
    ]),
  );

const keyed = (url: string, body: object, key: Record<string, string>) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...key },
    body: JSON.stringify(body),
  });

describe("a deployment", () => {
  test.each([
    ["chat-1", "chat-1"],
    ["org/chat/completions", "org/chat/completions"],
    ["org%2Fchat%2Fcompletions", "org/chat/completions"],
  ])("%s is the model, whatever the body says", async (deployment, model) => {
    const server = await gateway();
    const answer = await server.post(at(deployment), hello({ model: "none" }));
    expect(answer.status).toBe(200);
    expect((await json(answer)).model).toBe(model);
  });

  test("of no name is the default model", async () => {
    const { request } = await asked(at(""), hello({ model: "none" }));
    expect(request.model).toBe("chat-1");
  });

  test("draws", async () => {
    const backend = scripted({ streamTextToImage: paints() });
    const server = await serve(backend);
    const body = { prompt: "a cat", model: 7, n: 2 };
    const answer = await server.post(at("image-1", "images/generations"), body);
    expect((await json(answer)).data).toHaveLength(2);
    expect((backend.asked[0] as TextToImageRequest).modelId).toBe("image-1");
  });

  test("that is no model is a 404 of model", async () => {
    const answer = await (await gateway()).post(at("none"), hello());
    expect(answer.status).toBe(404);
    expect((await json(answer)).error).toMatchObject({ code: "model_not_found", param: "model" });
  });

  test.each(["embeddings", "chat/completions/input_tokens", "images/edits"])(
    "has no %s: a 404 says what there is",
    async (what) => {
      const answer = await (await gateway()).post(at("chat-1", what), hello());
      expect(answer.status).toBe(404);
      const there = "there are POST /openai/deployments/{model}/chat/completions and ";
      expect((await json(answer)).error.message).toContain(there);
    },
  );

  test("takes POST alone", async () => {
    const answer = await (await gateway()).get(at("chat-1"));
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
  });

  test("whose answers come of documents is refused: they would come of none", async () => {
    const sources = [{ type: "azure_search", parameters: {} }];
    const answer = await (await gateway()).post(at("chat-1"), hello({ data_sources: sources }));
    expect(answer.status).toBe(400);
    expect((await json(answer)).error).toMatchObject({
      ...{ code: "unsupported_parameter", param: "data_sources" },
    });
    const none = await (await gateway()).post(at("chat-1"), hello({ data_sources: [] }));
    expect(none.status).toBe(200);
  });
});

describe.each(["/openai/v1", "/openai"])("%s", (base) => {
  test("has what /v1 has", async () => {
    const server = await gateway();
    const chat = await server.post(`${base}/chat/completions?${version}`, hello());
    expect((await json(chat)).choices[0].message.content).toBe("Hi");
    const count = await server.post(`${base}/chat/completions/input_tokens`, hello());
    expect((await json(count)).object).toBe("response.input_tokens");
    const response = await server.post(`${base}/responses?${version}`, { input: "Hello" });
    expect((await json(response)).object).toBe("response");
    const tokens = await server.post(`${base}/responses/input_tokens`, { input: "Hello" });
    expect((await json(tokens)).object).toBe("response.input_tokens");
    const kept = await server.get(`${base}/responses/resp_1`);
    expect((await json(kept)).error.message).toMatch(/^nothing is kept here/);
    const images = await server.post(`${base}/images/generations`, { prompt: "a cat" });
    expect((await json(images)).data).toHaveLength(1);
    const { data } = await json(await server.get(`${base}/models?${version}`));
    expect(data.map(({ id }: { id: string }) => id)).toContain("org/chat/completions");
    const one = await server.get(`${base}/models/org/chat/completions`);
    expect((await json(one)).id).toBe("org/chat/completions");
    const unnamed = await json(await server.get(`${base}/models/`));
    expect(unnamed.error.message).toBe(
      `there is no GET ${base}/models/ here, but GET ${base}/models`,
    );
  });

  test("is told of to who asks there, and to no other", async () => {
    const server = await gateway();
    const said = async (path: string) =>
      (await json(await server.post(path, {}))).error.message as string;
    expect(await said(`${base}/embeddings`)).toContain(`POST ${base}/chat/completions`);
    for (const path of ["/v1/embeddings", "/chat/completions", "/api/chat"]) {
      const message = await said(path);
      expect(message).toContain("POST /v1/chat/completions");
      expect(message).not.toContain("/openai");
    }
  });
});

describe("who calls", () => {
  const paths = [at("chat-1"), "/openai/v1/chat/completions", "/v1/chat/completions"];
  test.each(paths)("%s: may say so in api-key", async (path) => {
    const { url } = await gateway();
    const status = async (key: Record<string, string>) =>
      (await keyed(url + path, hello(), key)).status;
    expect(await status({ "api-key": "me" })).toBe(200);
    expect(await status({ "x-api-key": "me" })).toBe(200);
    expect(await status({ authorization: "Bearer me" })).toBe(200);
    expect(await status({})).toBe(401);
    // A token goes before a key, also one that can't be read.
    expect(await status({ authorization: "Basic me", "api-key": "me" })).toBe(401);
  });

  test("may list models with it", async () => {
    const { url } = await gateway();
    const list = await fetch(`${url}/openai/models?${version}`, { headers: { "api-key": "me" } });
    expect(list.status).toBe(200);
    const stranger = await fetch(`${url}/openai/models?${version}`);
    expect(stranger.status).toBe(401);
  });
});
