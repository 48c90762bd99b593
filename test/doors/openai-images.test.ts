/** `POST /v1/images/generations`. */
import { describe, expect, test } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { imageModel } from "../support/models.js";
import { paints, png, scripted } from "../support/scripted.js";
import { json, serve } from "./serve.js";

const generations = "/v1/images/generations";

describe("POST /v1/images/generations", () => {
  const images = () => scripted({ streamTextToImage: paints() });

  test("urls, with seed and nsfw besides", async () => {
    const backend = images();
    const server = await serve(backend);
    const response = await server.post(generations, {
      model: "image-1",
      prompt: "a cat",
      n: 2,
      size: "64x128",
      seed: 7,
      user: "u",
    });
    expect(response.status).toBe(200);
    const { created, data } = await json(response);
    expect(Number.isInteger(created)).toBe(true);
    expect(data).toEqual(
      [7, 8].map((seed) => ({ url: expect.stringMatching(/^http/), seed, nsfw: false })),
    );
    expect(backend.asked[0]).toMatchObject({ width: 64, height: 128, numImagesPerPrompt: 2 });
  });

  test("b64_json carries the image instead", async () => {
    const server = await serve(images());
    const body = { prompt: "a cat", response_format: "b64_json", seed: 7 };
    const { data } = await json(await server.post(generations, body));
    expect(data).toEqual([{ b64_json: png(7).toString("base64"), seed: 7, nsfw: false }]);
  });

  test("b64_json is what clients of gpt-image get, who never ask for it", async () => {
    const server = await serve(images(), {
      core: { models: [{ name: "image-1", aliases: ["gpt-image-*", "chatgpt-image-latest"] }] },
    });
    const answered = async (body: object) => {
      const answer = await server.post(generations, { prompt: "a cat", seed: 7, ...body });
      return Object.keys((await json(answer)).data[0]);
    };
    for (const model of ["gpt-image-1", "gpt-image-1.5", "chatgpt-image-latest"]) {
      for (const asked of [{ model }, { model_id: model }, { model: "", model_id: model }]) {
        expect(await answered(asked)).toEqual(["b64_json", "seed", "nsfw"]);
      }
      expect(await answered({ model, response_format: "url" })).toEqual(["url", "seed", "nsfw"]);
    }
    expect(await answered({ model: "image-1" })).toEqual(["url", "seed", "nsfw"]);
  });

  test("what forms send empty is not set, and warned of as little", async () => {
    const backend = images();
    const server = await serve(backend);
    const names = ["size", "response_format", "quality", "style", "background", "output_format"];
    const empty = Object.fromEntries(names.map((name) => [name, ""]));
    const { data, warnings } = await json(
      await server.post(generations, { prompt: "a cat", seed: 7, ...empty, safety_check: false }),
    );
    expect(data).toEqual([{ url: expect.stringMatching(/^http/), seed: 7, nsfw: false }]);
    expect(warnings).toBeUndefined();
    expect(backend.asked[0]).toMatchObject({ width: 1024, height: 576 });
  });

  test("of a size the same fault is said once", async () => {
    const server = await serve(images());
    const response = await server.post(generations, { prompt: "a cat", size: "4096x4096" });
    const { error, detail } = await json(response);
    const msg = "must be a multiple of 8 from 64 to 2048";
    expect(error.message).toBe(`size: ${msg}`);
    expect(detail).toEqual([{ loc: ["body", "size"], msg, type: "value_error" }]);
  });

  test("no size and `auto` are the contract's default; its further fields pass", async () => {
    const backend = images();
    const server = await serve(backend);
    for (const size of [undefined, null, "auto"]) {
      const body = { prompt: "a cat", size, negative_prompt: "dogs", guidance_scale: 3 };
      expect((await server.post(generations, body)).status).toBe(200);
    }
    for (const asked of backend.asked) {
      expect(asked).toMatchObject({ width: 1024, height: 576, negativePrompt: "dogs" });
    }
  });

  test("the contract's own names of what OpenAI calls otherwise count, too", async () => {
    const backend = scripted({ streamTextToImage: paints() }, [
      imageModel("image-1"),
      imageModel("image-2"),
    ]);
    const server = await serve(backend);
    const own = { model_id: "image-2", width: 512, height: 256, num_images_per_prompt: 2 };
    const both = { model: "image-2", size: "512x256", n: 2 };
    // Clients that send every field send most of them as they are when not set.
    const unset = { model_id: "", width: 1024, height: 576, num_images_per_prompt: 1 };
    const emptied = { ...own, model: "", size: "auto", n: null };
    for (const more of [own, emptied, { ...own, ...both }, { ...both, ...unset }]) {
      const response = await server.post(generations, { prompt: "a cat", ...more });
      expect((await json(response)).data).toHaveLength(2);
    }
    for (const asked of backend.asked) {
      expect(asked).toMatchObject({
        modelId: "image-2",
        width: 512,
        height: 256,
        numImagesPerPrompt: 2,
      });
    }
  });

  test.each([
    [422, "width", { width: 63 }],
    [422, "height", { height: "x" }],
    [422, "num_images_per_prompt", { num_images_per_prompt: 9 }],
    [404, "model_id", { model_id: "none" }],
    [422, "size", { size: "64x64", height: 128 }],
    [422, "n", { n: 1, num_images_per_prompt: 2 }],
    [422, "model", { model: "image-1", model_id: "image-2" }],
    [422, "model", { model: false }],
    [422, "model", { model: 0 }],
    [422, "size", { size: "big" }],
    [422, "size", { size: "63x64" }],
    [422, "size", { size: 64 }],
    [422, "n", { n: 9 }],
    [422, "n", { n: "1" }],
    [422, "response_format", { response_format: "jpeg" }],
    [422, "prompt", { prompt: null }],
    [400, "prompt", { prompt: " " }],
    [404, "model", { model: "none" }],
  ])("%i by the client's name of the field: %s", async (status, param, more) => {
    const server = await serve(images());
    const response = await server.post(generations, { prompt: "a cat", ...more });
    expect(response.status).toBe(status);
    expect((await json(response)).error.param).toBe(param);
  });

  test("a side of the contract's default is named as it was sent, also out of bounds", async () => {
    const server = await serve(images(), { core: { bounds: { width: { min: 128, max: 500 } } } });
    const sides = { width: 1024, height: 512 };
    const response = await server.post(generations, { prompt: "a cat", ...sides });
    expect(response.status).toBe(422);
    const { error, detail } = await json(response);
    expect(error.param).toBe("width");
    expect(detail).toMatchObject([{ loc: ["body", "width"] }]);
  });

  test("an error that is renamed says when to come again, too", async () => {
    // biome-ignore lint/correctness/useYield: it fails before it has something
    const full = async function* () {
      throw new LintelError("rate_limited", "num_images_per_prompt: less for a minute", {
        param: "num_images_per_prompt",
        retryAfter: 42,
      });
    };
    const server = await serve(scripted({ streamTextToImage: full }));
    const response = await server.post(generations, { prompt: "a cat", n: 2 });
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("42");
    expect((await json(response)).error).toMatchObject({
      message: "n: less for a minute",
      param: "n",
    });
  });

  test("a size that the model does not support is refused by that name", async () => {
    const model = imageModel("image-1", { supports: [] });
    const server = await serve(scripted({ streamTextToImage: paints() }, [model]));
    const response = await server.post(generations, { prompt: "a cat", size: "64x64" });
    expect(response.status).toBe(400);
    const { error } = await json(response);
    expect(error).toMatchObject({ code: "unsupported_parameter", param: "size" });
    expect(error.message).toMatch(/^size: /);
  });
});
