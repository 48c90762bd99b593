/** Images of services that sell what others' models draw, each with fields of its own. */
import { describe, expect, it } from "vitest";
import { Task } from "../../gen/lintel/v1/models_pb.js";
import { dialectOf } from "../../src/backends/openai/dialects.js";
import { profileOf } from "../../src/backends/openai/images/profile.js";
import { hostsOf } from "../../src/backends/openai/images/services.js";
import { never } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { against, always, failure, generate, small, tuned } from "./openai-images-calls.js";
import { drawing, drawn, filled, sidesOf } from "./openai-images-subject.js";
import { picture, pixels } from "./picture.js";
import type { Script } from "./upstream.js";

const base = { prompt: "a | b", n: 1 };
/** What a caller sets of all that there is. */
const everything = { seed: 5n, numInferenceSteps: 8, guidanceScale: 3, negativePrompt: "blue" };
const b64 = { response_format: "b64_json" };
const png = { output_format: "png" };

/** A backend for models that are configured, at a service. */
const at = (dialect: string, models: string[], script: Script = drawing("together/image")) =>
  against("vllm/models", script, { dialect, models, image_models: models });

describe("Together AI", () => {
  const draw = drawing("together/image", sidesOf);
  const config = { dialect: "together" };
  const list = "together/models-of-all-kinds";
  const flux = "black-forest-labs/FLUX.2-dev";

  it("says which of its models draw, and which do neither that nor chat", async () => {
    const { backend } = await against(list, draw, config);
    const models = backend.models().map(({ id, task }) => [id, task]);
    expect(models).toEqual([
      ["openai/gpt-oss-120b", Task.CHAT],
      ["meta-llama/Llama-3-70b-hf", Task.CHAT],
      [flux, Task.TEXT_TO_IMAGE],
      ["google/flash-image-2.5", Task.TEXT_TO_IMAGE],
    ]);
  });

  it("makes the size that was asked for, and each image for its seed", async () => {
    const { backend, sent } = await against(list, draw, config);
    const request = { prompt: "a red circle", seed: 6n, numImagesPerPrompt: 2, safetyCheck: false };
    const [answer] = await run(coreOf([backend]), "textToImage", {
      ...{ ...request, modelId: flux, width: 128, height: 64 },
      ...{ numInferenceSteps: 8, guidanceScale: 3 },
    });
    expect(answer?.images.map(({ data }) => pixels(data))).toEqual(
      [6, 7].map((seed) => pixels(picture(128, 64, seed, "a red circle"))),
    );
    expect(answer?.warnings).toEqual([]);
    const body = {
      ...{ model: flux, prompt: "a red circle", n: 1, width: 128, height: 64 },
      ...{ response_format: "base64", output_format: "png", steps: 8, guidance_scale: 3 },
    };
    expect(sent()).toEqual([6, 7].map((seed) => ({ ...body, seed })));
  });

  it.each([
    ["stabilityai/stable-diffusion-xl-base-1.0", ["seed", ...tuned]],
    [flux, ["seed", "guidance_scale", "num_inference_steps"]],
    ["black-forest-labs/FLUX.2-pro", ["seed"]],
    ["black-forest-labs/FLUX.1.1-pro", ["seed", "negative_prompt", "num_inference_steps"]],
    ["black-forest-labs/FLUX.1-kontext-max", ["seed", "num_inference_steps"]],
    ["google/flash-image-2.5", []],
    ["openai/gpt-image-2", []],
  ])("%s takes %j", async (model, supports) => {
    const { backend } = await at("together", [model]);
    expect(backend.models()[0]?.supports).toEqual([...always, ...supports]);
  });

  it("is asked as ever for models that OpenAI has, too", async () => {
    const model = "openai/gpt-image-2";
    const { backend, sent } = await at("together", [model], draw);
    const core = coreOf([backend]);
    const request = { modelId: model, prompt: "a cat", safetyCheck: false };
    const [answer] = await run(core, "textToImage", request);
    expect(answer?.warnings).toEqual(["seed: this model takes none, 0 stands for that"]);
    expect(sent()).toEqual([
      {
        ...{ model, prompt: "a cat", n: 1, width: 1024, height: 1024 },
        ...{ response_format: "base64", output_format: "png" },
      },
    ]);
    const seeded = run(core, "textToImage", { ...request, seed: 3n });
    expect(await failure(seeded)).toMatchObject({ code: "unsupported_parameter", param: "seed" });
  });

  /** In the form that its errors have. */
  const refusing =
    (status: number, message: string, more: object = {}): Script =>
    (exchange) => {
      const error = { message, type: "invalid_request_error", param: null, code: null, ...more };
      return exchange.sendJson(status, { id: "nrGAiHi-3NKUce-8f1", error });
    };

  it.each([
    ["Steps must be between 1 and 50", 400, {}, "invalid_value", undefined],
    ["height must be a multiple of 16", 400, {}, "unsupported_parameter", "height"],
    ["width and height must be multiples of 16", 400, {}, "unsupported_parameter", "width"],
    ["Invalid API key provided", 401, { code: "invalid_api_key" }, "upstream_failed", undefined],
    [
      "This model requires third-party data sharing to be enabled for your organization.",
      ...([403, { code: "third_party_data_sharing_blocked" }, "upstream_failed"] as const),
      undefined,
    ],
    ["Unable to access model x", 400, { code: "model_not_available" }, "upstream_failed"],
    ["You have reached the rate limit", 429, { type: "model_rate_limit" }, "rate_limited"],
  ])("may refuse: %s", async (message, status, more, code, param = undefined) => {
    const { backend } = await against(list, refusing(status, message, more), config);
    const error = await failure(generate(backend, { modelId: flux, numInferenceSteps: 99 }));
    expect(error).toMatchObject({ code, param });
    const tells = code === "invalid_value" || code === "unsupported_parameter";
    expect(error.message.includes(message)).toBe(tells);
  });

  it.each([
    ["Prompt is too long: 4200 characters", 400, {}, "invalid_value"],
    ["Too many.", 400, { code: "context_length_exceeded" }, "invalid_value"],
    ["Request too large for x on tokens per minute (TPM): Limit 1", 413, {}, "rate_limited"],
  ])("names the prompt where that is too long: %s", async (message, status, more, code) => {
    const { backend } = await against(list, refusing(status, message, more), config);
    const asked = { modelId: flux, prompt: "a cat", safetyCheck: false };
    for (const method of ["textToImage", "streamTextToImage"] as const) {
      const error = await failure(run(coreOf([backend]), method, asked));
      expect(error).toMatchObject({ code, param: "prompt" });
      expect(error.message).toContain(message);
    }
  });

  it("is asked without steps, or a size that nobody chose, where it refuses these", async () => {
    const script: Script = (exchange) => {
      const { steps, height } = exchange.json();
      if (steps !== undefined) return refusing(400, "steps is not supported")(exchange);
      if (height === 576) return refusing(400, "height must be at least 1024")(exchange);
      return drawing("together/image", (e) => ({ ...sidesOf(e), ...small }))(exchange);
    };
    const { backend, sent } = await against(list, script, config);
    const usual = { width: 1024, height: 576 };
    const { images, warnings } = await generate(backend, {
      ...{ modelId: flux, numInferenceSteps: 8 },
      ...usual,
    });
    expect(images).toHaveLength(1);
    expect(warnings).toEqual(["num_inference_steps: not supported by this model, ignored"]);
    expect(sent().map(({ steps, width, height }) => [steps, width, height])).toEqual([
      [8, 1024, 576],
      [undefined, 1024, 576],
      [undefined, undefined, undefined],
    ]);
    const model = backend.models().find(({ id }) => id === flux);
    expect(model?.supports).toEqual([...always, "seed", "guidance_scale"]);
  });
});

describe("what a service has no field for is not sent, and told", () => {
  const seed = { seed: 5 };
  const sides = { width: 1024, height: 1024 };
  const size = { size: "1024x1024" };
  const tuning = { negative_prompt: "blue", num_inference_steps: 8, guidance_scale: 3 };

  it.each([
    [
      "nebius",
      "black-forest-labs/flux-dev",
      { ...sides, ...b64, response_extension: "png", ...seed, ...tuning },
    ],
    ["siliconflow", "Kwai-Kolors/Kolors", { image_size: "1024x1024", ...seed, ...tuning }],
    [
      "siliconflow",
      "Qwen/Qwen-Image",
      { image_size: "1024x1024", ...seed, negative_prompt: "blue", num_inference_steps: 8 },
    ],
    ["recraft", "recraftv4_1", { ...size, ...b64, image_format: "png", random_seed: 5 }],
    [
      "recraft",
      "recraftv3",
      { ...size, ...b64, image_format: "png", random_seed: 5, negative_prompt: "blue" },
    ],
    ["deepinfra", "black-forest-labs/FLUX-1-schnell", { ...size, ...b64 }],
    ["google", "imagen-4.0-generate-001", { ...size, ...b64 }],
    ["google", "gemini-2.5-flash-image", { ...size, ...b64 }],
    ["zai", "cogview-4-250304", size],
    ["venice", "venice-sd35", { ...size, ...b64, ...png }],
    ["venice", "gpt-image-2", { ...size, ...b64, ...png }],
    ["infomaniak", "flux", { ...size, ...b64 }],
    ["xai", "grok-imagine-image", b64],
    ["openrouter", "openai/gpt-image-1", png],
  ])("%s, %s", async (dialect, model, body) => {
    const script = drawing("together/image", () => ({ ...sides, prompt: "", seed: 0 }));
    const { backend, sent } = await at(dialect, [model], script);
    const settings = { name: model, prompt: "literal", unsupported: "ignore" } as const;
    const [answer] = await run(coreOf([backend], { models: [settings] }), "textToImage", {
      ...{ modelId: model, prompt: base.prompt, ...sides, ...everything },
      safetyCheck: false,
    });
    expect(sent()).toEqual([{ ...base, model, ...body }]);
    const lost = [
      ...("seed" in body || "random_seed" in body ? [] : ["seed"]),
      ...Object.keys(tuning).filter((field) => !(field in body)),
    ];
    for (const field of lost) {
      expect(answer?.warnings).toContain(`${field}: not supported by this model, ignored`);
    }
    expect(answer?.warnings).toHaveLength(
      lost.length + (lost.includes("seed") ? 1 : 0) + (body === b64 || body === png ? 2 : 0),
    );
  });

  it.each([
    ["venice", "venice-sd35", { width: 1280, height: 720 }, "1792x1024"],
    ["infomaniak", "flux", { width: 512, height: 512 }, "1024x1792"],
    ["zai", "glm-image", { width: 1040, height: 1024 }, "multiples of 32"],
    ["zai", "cogview-4-250304", { width: 1032, height: 1024 }, "multiples of 16"],
    ["xai", "grok-imagine-image", { width: 512, height: 512 }, "does not support it"],
  ])("nor are sizes that %s's %s does not make", async (dialect, modelId, asked, why) => {
    const { backend, sent } = await at(dialect, [modelId]);
    const request = { modelId, prompt: "a", safetyCheck: false, ...asked };
    const error = await failure(run(coreOf([backend]), "textToImage", request));
    expect(error).toMatchObject({ code: "unsupported_parameter" });
    expect(error.param).toMatch(/^(?:width|height)$/);
    expect(error.message).toContain(why);
    expect(sent()).toEqual([]);
  });

  it("but the size that a model has of itself is asked for where nobody chose one", async () => {
    const script = drawing("together/image", () => ({ ...sides, prompt: "", seed: 0 }));
    for (const [dialect, model, usual] of [
      ["zai", "glm-image", "1280x1280"],
      ["recraft", "recraftv4_pro", "2048x2048"],
      ["venice", "hidream", "1024x1024"],
      ["deepinfra", "a/b", "1024x576"],
    ] as const) {
      const { backend, sent } = await at(dialect, [model], script);
      const request = { modelId: model, prompt: "a", safetyCheck: false };
      await run(coreOf([backend]), "textToImage", request);
      expect(sent()).toMatchObject([{ size: usual }]);
    }
  });

  it("several images of one prompt are one request where it makes them at once", async () => {
    const image = drawn({ prompt: "", ...small, seed: 0 }).toString("base64");
    const script: Script = (exchange) => {
      const data = Array.from({ length: exchange.json().n }, () => ({ b64_json: image }));
      return exchange.sendJson(200, { data });
    };
    for (const [dialect, model, numbers] of [
      ["xai", "grok-imagine-image", [5]],
      ["google", "imagen-4.0-generate-001", [4, 1]],
      ["google", "gemini-2.5-flash-image", [1, 1, 1, 1, 1]],
    ] as const) {
      const { backend, sent } = await at(dialect, [model], script);
      const { images } = await generate(backend, { modelId: model, numImagesPerPrompt: 5 });
      expect(images).toHaveLength(5);
      expect(sent().map(({ n }) => n)).toEqual(numbers);
    }
  });
});

describe("Venice", () => {
  it("is asked for all its models, and says what each is for", async () => {
    const script = drawing("together/image");
    const { server, backend } = await against("venice/models", script, { dialect: "venice" });
    await backend.health?.(never);
    expect(server.requests.map(({ path }) => path)).toEqual(Array(2).fill("/v1/models?type=all"));
    expect(backend.models().map(({ id, task }) => [id, task])).toEqual([
      ["m-text", Task.CHAT],
      ["m-image", Task.TEXT_TO_IMAGE],
    ]);
  });
});

describe("SiliconFlow", () => {
  it("answers by address, with images where others have data", async () => {
    const made = drawn({ ...small, seed: 7, prompt: "" });
    const { server, backend, sent } = await at("siliconflow", ["Kwai-Kolors/Kolors"]);
    server.script((e) => e.play(filled("siliconflow/image-url", { origin: server.url })));
    server.route("/temporary/outputs/1.png", (e) => e.send(200, {}, made));
    const { images } = await generate(backend, { modelId: "Kwai-Kolors/Kolors", seed: 0n });
    expect(pixels(images[0]?.data ?? new Uint8Array())).toEqual(pixels(made));
    // It knows no seed 0.
    expect(sent()).toMatchObject([{ seed: 4294967295 }]);
  });
});

describe("a service is known by its address", () => {
  it.each([
    ["https://api.together.xyz/v1", "together"],
    ["https://api.together.ai/v1", "together"],
    ["https://api.tokenfactory.us-central1.nebius.com/v1", "nebius"],
    ["https://api.studio.nebius.ai/v1", "nebius"],
    ["https://api.siliconflow.cn/v1", "siliconflow"],
    ["https://api.siliconflow.com/v1", "siliconflow"],
    ["https://external.api.recraft.ai/v1", "recraft"],
    ["https://api.deepinfra.com/v1/openai", "deepinfra"],
    ["https://generativelanguage.googleapis.com/v1beta/openai", "google"],
    ["https://api.x.ai/v1", "xai"],
    ["https://eu-west-1.api.x.ai/v1", "xai"],
    ["https://api.z.ai/api/paas/v4", "zai"],
    ["https://open.bigmodel.cn/api/paas/v4", "zai"],
    ["https://api.venice.ai/api/v1", "venice"],
    ["https://api.infomaniak.com/2/ai/1/openai/v1", "infomaniak"],
    ["https://openrouter.ai/api/v1", "openrouter"],
    ["https://api.openai.com", "openai"],
    ["https://eu.api.openai.com/v1", "openai"],
    ["https://together.xyz.example.com/v1", "unknown"],
    ["https://notapi.x.ai/v1", "unknown"],
    // A machine of one's own there.
    ["https://vllm.nebius.com/v1", "unknown"],
  ])("%s: %s", (url, server) => {
    expect(dialectOf("auto", new URL(url)).images).toBe(server);
  });

  it("which says where its images are, whose models it lists, and nothing of who draws there", () => {
    expect(hostsOf("zai")).toEqual(["*.z.ai", "*.bigmodel.cn"]);
    expect(hostsOf("vllm")).toEqual([]);
    expect(dialectOf("venice", new URL("http://127.0.0.1")).listed).toBe("type=all");
    expect(profileOf("gpt-image-1", "together")).toMatchObject({ sides: true, previews: false });
    // A name of the language's own is no service.
    expect(profileOf("gpt-image-1", "vllm").server).toBe("openai");
  });
});
