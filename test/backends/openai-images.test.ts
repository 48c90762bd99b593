import { describe, expect, it } from "vitest";
import { Task } from "../../gen/lintel/v1/models_pb.js";
import { noSeed } from "../../src/core/image-events.js";
import { fixture } from "./fixture.js";
import { against, always, failure, generate, tuned } from "./openai-images-calls.js";
import { drawing, filled, gptImage } from "./openai-images-subject.js";
import { picture, pixels } from "./picture.js";
import type { Script } from "./upstream.js";

describe("OpenAI", () => {
  const openai = { models: ["gpt-image-1", "gpt-image-2", "dall-e-2", "dall-e-3", "gpt-4o"] };
  const square = { width: 1024, height: 1024 };

  it("has models with what each of them takes", async () => {
    const { backend } = await against("vllm/models", gptImage, { ...openai, dialect: "openai" });
    const [gpt, , , dalle3, chat] = backend.models();
    for (const model of [gpt, dalle3]) {
      expect(model).toMatchObject({ task: Task.TEXT_TO_IMAGE, defaults: square });
    }
    expect(gpt?.supports).toEqual([...always, "include_previews"]);
    expect(dalle3?.supports).toEqual(always);
    expect(chat).toMatchObject({ id: "gpt-4o", task: Task.CHAT });
  });

  it("gpt-image makes several at once, and is not told the format of its answer", async () => {
    const { backend, sent } = await against("vllm/models", gptImage, openai);
    const { images } = await generate(backend, { modelId: "gpt-image-2", numImagesPerPrompt: 3 });
    expect(images.map(({ data }) => pixels(data))).toEqual(
      [0, 1, 2].map((seed) => pixels(picture(64, 48, seed, "a red circle"))),
    );
    expect(sent()).toEqual([
      {
        ...{ model: "gpt-image-2", prompt: "a red circle", n: 3 },
        ...{ size: "64x48", output_format: "png" },
      },
    ]);
  });

  it("dall-e is told to answer in base64, as many at once as it makes", async () => {
    const { backend, sent } = await against("vllm/models", drawing("openai/image-dall-e"), openai);
    const request = { modelId: "dall-e-3", ...square, numImagesPerPrompt: 2 };
    const { images } = await generate(backend, request);
    expect(images.map(({ seed }) => seed)).toEqual([noSeed, noSeed]);
    const revised = "A simple red circle centred on white.";
    expect(images.map(({ revisedPrompt }) => revisedPrompt)).toEqual([revised, revised]);
    const body = {
      ...{ model: "dall-e-3", prompt: "a red circle", n: 1 },
      ...{ size: "1024x1024", response_format: "b64_json" },
    };
    expect(sent()).toEqual([body, body]);
  });

  it("streams partial images as previews, where they are wanted", async () => {
    const { backend, sent } = await against("vllm/models", gptImage, openai);
    const { images, previews, steps } = await generate(backend, {
      modelId: "gpt-image-2",
      includePreviews: true,
      numInferenceSteps: 50,
    });
    const at = (seed: number) => pixels(picture(64, 48, seed, "a red circle"));
    expect(previews.map(pixels)).toEqual([at(1000), at(1001)]);
    expect(steps).toEqual([12, 25]);
    expect(images.map(({ seed }) => seed)).toEqual([noSeed]);
    expect(images.map(({ data }) => pixels(data))).toEqual([at(0)]);
    expect(sent()).toEqual([expect.objectContaining({ n: 1, stream: true, partial_images: 3 })]);
  });

  it("says whose each preview is", async () => {
    const { backend } = await against("vllm/models", gptImage, openai);
    const request = { modelId: "gpt-image-2", includePreviews: true, numImagesPerPrompt: 2 };
    const { images, of } = await generate(backend, request);
    expect([images.length, of]).toEqual([2, [0, 0, 1, 1]]);
  });

  it("comes also where a partial image can't be read", async () => {
    const image = picture(8, 8, 0).toString("base64");
    const events = filled("openai/image-events", {
      "partial-0": "bm8=",
      "partial-1": image,
      image,
    });
    const { backend } = await against("vllm/models", (e) => e.play(events), openai);
    const request = { modelId: "gpt-image-2", includePreviews: true };
    const { images, previews } = await generate(backend, request);
    expect([images.length, previews.length]).toEqual([1, 1]);
  });

  it.each([
    // As OpenAI says it to organizations that it does not know.
    ["stream", "unsupported_value", "Your organization must be verified to stream this model."],
    ["stream", null, "Your organization must be verified to use `stream`."],
    ["partial_images", "unknown_parameter", "Unknown parameter: 'partial_images'."],
    ["partial_images", null, "The value of 'partial_images' must be 0."],
  ])("goes without previews where %s is refused (%s: %s)", async (param, code, message) => {
    const refusing: Script = (exchange) =>
      exchange.json()[param] === undefined
        ? gptImage(exchange)
        : exchange.sendJson(400, { error: { message, param, code } });
    const { backend, sent } = await against("vllm/models", refusing, openai);
    const request = { modelId: "gpt-image-2", includePreviews: true, numImagesPerPrompt: 2 };
    const { images, previews, warnings } = await generate(backend, request);
    expect([images.length, previews.length]).toEqual([2, 0]);
    expect(warnings).toEqual(["include_previews: not supported by this model, ignored"]);
    const asked = sent().map((body) => [body.stream, body.partial_images]);
    expect(asked).toEqual([
      [true, 3],
      [undefined, undefined],
      [undefined, undefined],
    ]);
    const model = backend.models().find(({ id }) => id === "gpt-image-2");
    expect(model?.supports).not.toContain("include_previews");
  });

  it("may fail in the middle of a stream, or break it off", async () => {
    const partial = picture(8, 8, 0).toString("base64");
    const broken = filled("openai/image-events-error", { "partial-0": partial });
    const { server, backend } = await against("vllm/models", (e) => e.play(broken), openai);
    const request = { modelId: "gpt-image-2", includePreviews: true };
    expect(await failure(generate(backend, request))).toMatchObject({ code: "upstream_failed" });
    const cut = { ...broken, body: broken.body.subarray(0, broken.body.indexOf("event: error")) };
    server.script((exchange) => exchange.play(cut));
    expect(await failure(generate(backend, request))).toMatchObject({ code: "upstream_failed" });
  });

  it.each([
    ["dall-e-2", { width: 1024, height: 576 }, "height", "256x256, 512x512, 1024x1024"],
    ["dall-e-3", { width: 512, height: 512 }, "width", "1792x1024"],
    ["gpt-image-1", { width: 1000, height: 1024 }, "width", "1536x1024"],
    ["gpt-image-2", { width: 1024, height: 1000 }, "height", "multiples of 16"],
    ["gpt-image-2", { width: 2048, height: 512 }, "width", "3 times"],
  ])("%s does not make %j", async (modelId, size, param, allowed) => {
    const { backend, sent } = await against("vllm/models", gptImage, openai);
    const error = await failure(generate(backend, { modelId, ...size }));
    expect(error).toMatchObject({ code: "unsupported_parameter", param });
    expect(error.message).toContain(allowed);
    expect(sent()).toEqual([]);
  });

  it("may refuse a size by itself", async () => {
    const script: Script = (exchange) => exchange.play(fixture("openai/image-refuses-size"));
    const { backend } = await against("vllm/models", script, openai);
    const error = await failure(generate(backend, { modelId: "gpt-image-2" }));
    expect(error).toMatchObject({ code: "unsupported_parameter", param: "width" });
    expect(error.message).toMatch(/^width: .*1024x1536/);
  });

  it("may refuse a prompt", async () => {
    const script: Script = (exchange) => exchange.play(fixture("openai/image-blocked"));
    const { backend } = await against("vllm/models", script, openai);
    const error = await failure(generate(backend, { modelId: "gpt-image-2" }));
    expect(error).toMatchObject({ code: "content_blocked" });
    expect(error.message).toContain("safety system");
  });

  it.each<readonly [whose: string, entry: object, code: string, said: string]>([
    ["xAI's filter", { url: "", respect_moderation: false }, "content_blocked", "moderated"],
    [
      "Ark's filter",
      {
        error: { code: "OutputImageSensitiveContentDetected", message: "The image is sensitive." },
      },
      "content_blocked",
      "The image is sensitive.",
    ],
    ["a failure", { error: { code: "InternalServiceError", message: "x" } }, "upstream_failed", ""],
  ])("may say of one image that %s kept it back", async (_, entry, code, said) => {
    const made = { b64_json: picture(64, 48, 1).toString("base64") };
    const script: Script = (e) => e.sendJson(200, { created: 1, data: [made, entry] });
    const { backend } = await against("vllm/models", script, openai);
    const request = { modelId: "gpt-image-2", ...{ width: 1024, height: 1024 } };
    const error = await failure(generate(backend, { ...request, numImagesPerPrompt: 2 }));
    expect(error).toMatchObject({ code, message: expect.stringContaining(said) });
  });

  it.each([
    // Together AI has base64 besides url, FastAPI's servers name the field in `loc`.
    ["response_format", "Invalid option: expected one of 'base64', 'url'"],
    ["output_format", "must be 'jpeg'"],
  ])("is asked without %s where it knows other values of that", async (field, message) => {
    const refusals: Script[] = [
      (exchange) => exchange.sendJson(400, { error: { message, param: field, code: null } }),
      (exchange) =>
        exchange.sendJson(422, {
          detail: [{ type: "literal_error", loc: ["body", field], msg: message }],
        }),
    ];
    for (const refuse of refusals) {
      const script: Script = (exchange) =>
        (exchange.json()[field] === undefined ? drawing("vllm-omni/image") : refuse)(exchange);
      const { backend, sent } = await against("vllm/models", script, openai);
      for (let i = 0; i < 2; i++) {
        const { images, warnings } = await generate(backend, { modelId: "flux" });
        expect([images.length, warnings]).toEqual([1, []]);
      }
      expect(sent().map((body) => field in body)).toEqual([true, false, false]);
    }
  });

  it("is not asked again for what it has refused", async () => {
    const { backend, sent } = await against("vllm/models", (exchange) => {
      if (exchange.json().response_format === undefined) {
        return drawing("vllm-omni/image")(exchange);
      }
      return exchange.play(fixture("openai/image-refuses-response-format"));
    });
    const named = { models: undefined, image_models: ["m"] };
    const other = await against(
      "vllm/models",
      (exchange) =>
        exchange.json().seed === undefined
          ? drawing("vllm-omni/image")(exchange)
          : exchange.sendJson(400, {
              error: { message: "Unknown parameter: 'seed'.", param: "seed" },
            }),
      named,
    );
    await generate(backend, { modelId: "flux" });
    await generate(backend, { modelId: "flux" });
    expect(sent().map((body) => body.response_format)).toEqual(["b64_json", undefined, undefined]);
    const { warnings, images } = await generate(other.backend, { modelId: "m" });
    expect(warnings).toEqual([]);
    expect(images.map(({ seed }) => seed)).toEqual([noSeed]);
    const model = other.backend.models().find(({ id }) => id === "m");
    expect(model?.supports).toEqual([...always, ...tuned]);
    await generate(other.backend, { modelId: "m" });
    expect(other.sent()).toHaveLength(3);
  });

  it("is not read on once its answer is nonsense", async () => {
    let gone: Promise<void> | undefined;
    const script: Script = async (exchange) => {
      gone = exchange.gone;
      await exchange.head(200, { "content-type": "application/json" });
      await exchange.chunk('{"data":[{"b64_json":"abc\\q0000000"}');
      // A little is not looked at before it is complete.
      await exchange.chunk(" ".repeat(512 * 1024));
      await exchange.gone;
    };
    const { backend } = await against("vllm/models", script, openai);
    expect(await failure(generate(backend, { modelId: "gpt-image-2" }))).toMatchObject({
      code: "upstream_failed",
    });
    await gone;
  });

  it("must answer with as many images as were asked for, and with images", async () => {
    const b64_json = picture(64, 48, 1).toString("base64");
    const two = [{ b64_json }, { b64_json }];
    for (const data of [[], [{}], [{ b64_json: "aGVsbG8=" }], [{ b64_json: "" }, {}], {}, two]) {
      const script: Script = (exchange) => exchange.sendJson(200, { data });
      const { backend } = await against("vllm/models", script, openai);
      expect(await failure(generate(backend, { modelId: "gpt-image-2" }))).toMatchObject({
        code: "upstream_failed",
      });
    }
  });
});
