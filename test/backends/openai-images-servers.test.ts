import { describe, expect, it } from "vitest";
import { State, Task } from "../../gen/lintel/v1/models_pb.js";
import { dialectOf } from "../../src/backends/openai/dialects.js";
import { profileOf } from "../../src/backends/openai/images/profile.js";
import { modalityOf } from "../../src/core/model.js";
import { never } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { fixture } from "./fixture.js";
import { against, always, failure, generate, small, tuned } from "./openai-images-calls.js";
import { askedOf, drawing, drawn, filled } from "./openai-images-subject.js";
import { picture, pixels } from "./picture.js";
import type { Exchange, Script } from "./upstream.js";

describe("servers that take seeds", () => {
  const servers = [
    ["vLLM-Omni", "vllm-omni/models", "vllm-omni/image", "Tongyi-MAI/Z-Image-Turbo"],
    ["SGLang", "sglang/models-diffusion", "sglang/image", "black-forest-labs/FLUX.1-dev"],
  ] as const;

  it.each(servers)("%s: each image arrives as it was made for its seed", async (...of) => {
    const [, models, image, modelId] = of;
    const { backend, sent } = await against(models, drawing(image));
    expect(backend.models()).toMatchObject([
      { id: modelId, task: Task.TEXT_TO_IMAGE, state: State.READY, defaults: {} },
    ]);
    expect(backend.models()[0]?.supports).toEqual([...always, "seed", ...tuned]);
    const { images, warnings } = await generate(backend, {
      modelId,
      numImagesPerPrompt: 2,
      seed: 4294967295n,
      prompt: "a | b",
    });
    expect(images.map(({ seed }) => seed)).toEqual([4294967295, 0]);
    for (const { seed, data } of images) {
      expect(pixels(data)).toEqual(pixels(picture(64, 48, seed, "a | b")));
    }
    expect(warnings).toEqual([]);
    const common = {
      ...{ model: modelId, prompt: "a | b", n: 1, size: "64x48" },
      ...{ response_format: "b64_json", output_format: "png" },
    };
    expect(sent()).toEqual([
      { ...common, seed: 4294967295 },
      { ...common, seed: 0 },
    ]);
  });

  it.each(servers)("%s: a seed is always sent, and what was set", async (...of) => {
    const [, models, image, modelId] = of;
    const { backend, sent } = await against(models, drawing(image));
    const tuning = { negativePrompt: "blue", numInferenceSteps: 8, guidanceScale: 1 };
    await generate(backend, { modelId, ...tuning });
    expect(sent()[0]).toMatchObject({
      seed: expect.any(Number),
      negative_prompt: "blue",
      num_inference_steps: 8,
      guidance_scale: 1,
    });
  });

  it("report their errors", async () => {
    for (const [name, code, text] of [
      ["vllm-omni/bad-steps", "invalid_value", "less than or equal to 200"],
      ["vllm-omni/failed", "upstream_failed", ""],
      ["sdcpp/openai-failed", "upstream_failed", ""],
    ] as const) {
      const { backend } = await against("vllm-omni/models", (e) => e.play(fixture(name)));
      const error = await failure(generate(backend, { modelId: "Tongyi-MAI/Z-Image-Turbo" }));
      expect(error).toMatchObject({ code, message: expect.stringContaining(text) });
    }
  });
});

describe("stable-diffusion.cpp", () => {
  const extra = /^(.*)<sd_cpp_extra_args>(.*?)<\/sd_cpp_extra_args>$/;
  const read = (exchange: Exchange) => {
    const [, prompt = "", json = "{}"] = extra.exec(exchange.json().prompt) ?? [];
    return { ...askedOf(exchange), prompt, seed: JSON.parse(json).seed };
  };

  it("gets in its prompt what OpenAI's form has no field for", async () => {
    const { backend, sent } = await against(
      "sdcpp/openai-models",
      drawing("sdcpp/openai-image", read),
    );
    const { images } = await generate(backend, {
      modelId: "sd-cpp-local",
      seed: 7n,
      negativePrompt: "a </sd_cpp_extra_args> b",
      numInferenceSteps: 8,
      guidanceScale: 3,
    });
    expect(pixels(images[0]?.data ?? new Uint8Array())).toEqual(
      pixels(picture(64, 48, 7, "a red circle")),
    );
    const [{ prompt, ...rest }] = sent();
    expect(rest).toEqual({ model: "sd-cpp-local", n: 1, size: "64x48", output_format: "png" });
    expect(JSON.parse(extra.exec(prompt)?.[2] ?? "")).toEqual({
      seed: 7,
      negative_prompt: "a </sd_cpp_extra_args> b",
      sample_params: { sample_steps: 8, guidance: { txt_cfg: 3 } },
    });
  });

  it("follows the prompt alone for guidance below 1", async () => {
    const draw = drawing("sdcpp/openai-image", read);
    const { backend, sent } = await against("sdcpp/openai-models", draw);
    await generate(backend, { modelId: "sd-cpp-local", guidanceScale: 0 });
    const said = JSON.parse(extra.exec(sent()[0].prompt)?.[2] ?? "");
    expect(said.sample_params).toEqual({ guidance: { txt_cfg: 1 } });
  });

  it("is found out by the first image where its models are configured", async () => {
    const { server, backend, sent } = await against(
      "sdcpp/openai-models",
      drawing("sdcpp/openai-image", read),
      { models: ["flux"] },
    );
    const lists = () => server.requests.filter(({ method }) => method === "GET");
    expect(lists()).toEqual([]);
    // Once it can't answer now, and is asked again.
    server.route("/v1/models", (exchange) => exchange.sendJson(503, {}));
    await generate(backend, { modelId: "flux", seed: 7n });
    expect(sent().at(-1)).toHaveProperty("seed");
    server.route("/v1/models", (exchange) => exchange.play(fixture("sdcpp/openai-models")));
    for (const seed of [7, 8]) {
      const { images } = await generate(backend, { modelId: "flux", seed: BigInt(seed) });
      const made = pixels(images[0]?.data ?? new Uint8Array());
      expect(made).toEqual(pixels(picture(64, 48, seed, "a red circle")));
    }
    expect(sent().at(-1)).not.toHaveProperty("seed");
    expect(lists()).toHaveLength(2);
  });

  it.each([
    ["says nothing of itself", "auto", 1],
    ["is said to be another", "vllm", 0],
  ])("that %s, in the dialect %s, is asked %i times", async (_, dialect, times) => {
    const { server, backend, sent } = await against(
      "sdcpp/openai-models",
      drawing("vllm-omni/image"),
      { models: ["flux"], dialect },
    );
    server.route("/v1/models", (exchange) => exchange.sendJson(404, {}));
    for (const seed of [7n, 8n]) await generate(backend, { modelId: "flux", seed });
    expect(sent()).toMatchObject([{ seed: 7 }, { seed: 8 }]);
    expect(server.requests.filter(({ method }) => method === "GET")).toHaveLength(times);
  });

  it.each([
    ["prompt", { prompt: "é".repeat(8193) }],
    ["negative_prompt", { negativePrompt: "<".repeat(2731) }],
  ])("gets no %s that ends its process", async (param, long) => {
    const { backend, sent } = await against("sdcpp/openai-models", drawing("sdcpp/openai-image"));
    const error = await failure(generate(backend, { modelId: "sd-cpp-local", ...long }));
    const message = `${param}: must have at most 16384 bytes for this model`;
    expect(error).toMatchObject({ code: "invalid_value", param, message });
    expect(sent()).toEqual([]);
  });

  it("does not take a caller's prompt for more than a prompt", async () => {
    const { backend, sent } = await against(
      "sdcpp/openai-models",
      drawing("sdcpp/openai-image", read),
    );
    const attack = '<sd_cpp_<sd_cpp_extra_args>extra_args>{"width":9999}</sd_cpp_extra_args>';
    await generate(backend, { modelId: "sd-cpp-local", prompt: attack });
    const [{ prompt }] = sent();
    expect(prompt.match(/<sd_cpp_extra_args>/g)).toHaveLength(1);
    expect(JSON.parse(extra.exec(prompt)?.[2] ?? "")).toEqual({ seed: expect.any(Number) });
  });
});

describe("LocalAI", () => {
  const config = { dialect: "localai" };
  const image = drawing("localai/image");

  it("draws with the models whose names tell, and chats with the others", async () => {
    const { backend } = await against("localai/models", image, config);
    expect(backend.models()).toMatchObject([
      { id: "gpt-4", task: Task.CHAT },
      { id: "stablediffusion", task: Task.TEXT_TO_IMAGE },
    ]);
    const named = await against("localai/models", image, {
      ...config,
      image_models: ["gpt-4", "x"],
    });
    expect(named.backend.models().map(({ id, task }) => [id, task])).toEqual([
      ["gpt-4", Task.TEXT_TO_IMAGE],
      ["x", Task.TEXT_TO_IMAGE],
    ]);
  });

  it.each([config, { dialect: "auto" }])(
    "gets no bar of a caller, since it would end the prompt there (%j)",
    async (dialect) => {
      const { backend, sent } = await against("localai/models", image, dialect);
      const { warnings } = await generate(backend, {
        modelId: "stablediffusion",
        prompt: "a cat | a dog|x",
        seed: 3n,
      });
      expect(sent()[0]).toMatchObject({ prompt: "a cat, a dog, x", seed: 3 });
      expect(warnings).toEqual([expect.stringMatching(/^prompt: \| .* sent as a comma$/)]);
    },
  );

  it.each([config, { dialect: "auto" }])(
    "gets seeds that it does not take for random ones, and callers those they asked for (%j)",
    async (dialect) => {
      const { backend, sent } = await against("localai/models", image, dialect);
      const asked = [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];
      const reported: unknown[] = [];
      for (const seed of asked) {
        const model = { modelId: "stablediffusion", seed: BigInt(seed) };
        const { images } = await generate(backend, model);
        reported.push(images[0]?.seed);
      }
      expect(reported).toEqual(asked);
      const last = 2 ** 31 - 1;
      expect(sent().map(({ seed }) => seed)).toEqual([last, 1, last, 1, 1]);
    },
  );

  it("takes a megabyte of blanks for what it is", async () => {
    const { backend, sent } = await against("localai/models", image, config);
    const blanks = " ".repeat(1_000_000);
    const model = { modelId: "stablediffusion" };
    const { images } = await generate(backend, { ...model, prompt: `a${blanks}b` });
    expect(images).toHaveLength(1);
    await generate(backend, { ...model, prompt: `a${blanks}|${blanks}b` });
    expect(sent().map(({ prompt }) => prompt)).toEqual([`a${blanks}b`, "a, b"]);
  });

  it("takes no negative prompt, and has its own word for steps", async () => {
    const { backend, sent } = await against("localai/models", image, config);
    const model = backend.models().find(({ id }) => id === "stablediffusion");
    expect(model?.supports).toEqual([...always, "seed", "num_inference_steps"]);
    const tuning = { negativePrompt: "blue|green", numInferenceSteps: 8, seed: 3n };
    await generate(backend, { modelId: "stablediffusion", ...tuning });
    expect(sent()).toEqual([
      {
        ...{ model: "stablediffusion", n: 1, size: "64x48", response_format: "b64_json" },
        ...{ prompt: "a red circle", seed: 3, step: 8 },
      },
    ]);
  });

  it("gets nothing of a negative prompt, of which the caller is warned", async () => {
    const { backend, sent } = await against("localai/models", image, config);
    const core = coreOf([backend], { models: [{ name: "stablediffusion", prompt: "literal" }] });
    const [answer] = await run(core, "textToImage", {
      ...{ modelId: "stablediffusion", prompt: "a cat | a dog", negativePrompt: "blue" },
      ...{ width: 64, height: 64 },
      ...{ safetyCheck: false },
    });
    expect(sent().map(({ prompt }) => prompt)).toEqual(["a cat, a dog"]);
    expect(answer?.warnings).toEqual([
      "negative_prompt: not supported by this model, ignored",
      expect.stringMatching(/^prompt: \| .* sent as a comma$/),
    ]);
  });

  it("may answer with an address of its own, and of nobody else", async () => {
    const png = drawn({ ...small, seed: 1, prompt: "" });
    const { server, backend } = await against("localai/models", image, config);
    const at = (origin: string) => filled("localai/image-url", { origin });
    server.route("/generated-images/b6412.png", (e) => e.send(200, {}, png));
    server.script((exchange) => exchange.play(at(server.url)));
    const { images } = await generate(backend, { modelId: "stablediffusion" });
    expect(pixels(images[0]?.data ?? new Uint8Array())).toEqual(pixels(png));
    // Empty where the image is elsewhere.
    const url = "/generated-images/b6412.png";
    server.script((exchange) => exchange.sendJson(200, { data: [{ b64_json: "", url }] }));
    const other = await generate(backend, { modelId: "stablediffusion" });
    expect(pixels(other.images[0]?.data ?? new Uint8Array())).toEqual(pixels(png));
    server.script((exchange) => exchange.play(at("http://169.254.169.254")));
    expect(await failure(generate(backend, { modelId: "stablediffusion" }))).toMatchObject({
      code: "upstream_failed",
      message: expect.stringContaining("may not be fetched"),
    });
  });
});

describe("Ollama", () => {
  it("takes a size and a seed, and says to callers what it takes not", async () => {
    const model = "x/z-image-turbo:latest";
    const config = { image_models: [model], models: [model], dialect: "ollama" };
    const { backend, sent } = await against("ollama/models", drawing("ollama/image"), config);
    expect(backend.models()[0]?.supports).toEqual([...always, "seed"]);
    const [answer] = await run(coreOf([backend]), "textToImage", {
      ...{ modelId: model, prompt: "a cat", negativePrompt: "blue", seed: 4294967295n },
      ...{ width: 64, height: 64, guidanceScale: 3, numInferenceSteps: 8, safetyCheck: false },
    });
    expect(answer?.images.map(({ seed }) => seed)).toEqual([4294967295]);
    expect(sent()).toEqual([
      {
        ...{ model, prompt: "a cat", n: 1, size: "64x64", response_format: "b64_json" },
        seed: 4294967295,
      },
    ]);
    expect([...(answer?.warnings ?? [])].sort()).toEqual([
      "guidance_scale: not supported by this model, ignored",
      "negative_prompt: not supported by this model, ignored",
      "num_inference_steps: not supported by this model, ignored",
    ]);
  });
});

describe("OpenRouter", () => {
  const draw = drawing("openrouter/image", (e) => ({ ...askedOf(e), width: 96, height: 96 }));
  const config = { dialect: "openrouter" };

  it("lists those that only draw where it is asked for them", async () => {
    const { server, backend } = await against("openrouter/models", draw, config);
    await backend.health?.(never);
    const path = "/v1/models?output_modalities=text,image";
    expect(server.requests.map((request) => request.path)).toEqual([path, path]);
  });

  it("has a path of its own, and neither sizes nor seeds", async () => {
    const { server, backend, sent } = await against("openrouter/models", draw, config);
    const core = coreOf([backend]);
    const request = { modelId: "krea/krea-2-large", prompt: "a | b", safetyCheck: false };
    expect(core.catalogue.list(() => true).map(({ id, task }) => [id, task])).toEqual([
      ["google/gemini-2.5-flash-image", Task.CHAT],
      ["krea/krea-2-large", Task.TEXT_TO_IMAGE],
      ["openai/gpt-4o-mini", Task.CHAT],
    ]);
    expect(backend.models()[0]?.supports).toEqual(["num_images_per_prompt"]);
    // Of those that chat it tells which draw.
    const [, draws, writes] = backend.models().map(({ supports }) => supports);
    const drawn = ["modalities", "image_config"];
    expect(draws).toEqual([...(writes ?? []), ...drawn]);
    // And what it takes; files it reads to every model, and sounds to neither of these.
    expect(core.catalogue.list(() => true).map(modalityOf)).toEqual([
      "text+image+file->text+image",
      "text->image",
      "text+image+file->text",
    ]);
    expect(writes).not.toContain("input_audio");
    const [answer] = await run(core, "textToImage", request);
    expect(answer?.images.map(({ data }) => pixels(data))).toEqual([
      pixels(picture(96, 96, 0, "a")),
      pixels(picture(96, 96, 0, "b")),
    ]);
    expect(answer?.warnings).toEqual(["seed: this model takes none, 0 stands for that"]);
    const common = { model: "krea/krea-2-large", n: 1, output_format: "png" };
    expect(sent()).toEqual(["a", "b"].map((prompt) => ({ ...common, prompt })));
    expect(server.requests.at(-1)?.path).toBe("/v1/images");
    const sized = run(core, "textToImage", { ...request, width: 512, height: 512 });
    expect(await failure(sized)).toMatchObject({ code: "unsupported_parameter" });
  });

  it.each(["openrouter.ai", "eu.openrouter.ai"])(
    "is known by its address, whoever's model it is: %s",
    (host) => {
      const { images } = dialectOf("auto", new URL(`https://${host}/api/v1`));
      expect(profileOf("openai/gpt-image-1", images)).toMatchObject({ path: "/images" });
    },
  );
});

describe("a server that refuses sizes", () => {
  const usual = { width: 1024, height: 576 };
  /** It makes squares, whatever it is asked for. */
  const square: Script = (exchange) =>
    drawing("vllm-omni/image", (e) => ({ ...askedOf(e), width: 96, height: 96 }))(exchange);
  const refusing =
    (answer: Script): Script =>
    (exchange) =>
      exchange.json().size === undefined ? square(exchange) : answer(exchange);
  const config = { models: ["m"], image_models: ["m"] };
  const xai = refusing((exchange) => exchange.play(fixture("xai/image-refuses-size")));

  it("is asked without one where nobody asked for a size", async () => {
    const { backend, sent } = await against("vllm/models", xai, config);
    const core = coreOf([backend]);
    for (const size of [{}, usual]) {
      const request = { modelId: "m", prompt: "a", safetyCheck: false, numImagesPerPrompt: 2 };
      const [answer] = await run(core, "textToImage", { ...request, ...size });
      expect(answer?.images).toHaveLength(2);
      expect(answer?.warnings).toEqual([]);
    }
    expect(sent().map(({ size }) => size)).toEqual(["1024x576", ...Array(4).fill(undefined)]);
  });

  it("is asked with the size that somebody asked for, and the refusal names the width", async () => {
    const { backend, sent } = await against("vllm/models", xai, config);
    await generate(backend, { modelId: "m", ...usual });
    for (const size of [{ width: 1024, height: 1024 }, small]) {
      const error = await failure(generate(backend, { modelId: "m", ...size }));
      expect(error).toMatchObject({ code: "unsupported_parameter", param: "width" });
      expect(error.message).toContain("Argument not supported: size");
    }
    expect(
      sent()
        .map(({ size }) => size)
        .slice(2),
    ).toEqual(["1024x1024", "64x48"]);
    const core = coreOf([backend], { models: [{ name: "m", defaults: { height: 1024 } }] });
    await expect(run(core, "textToImage", { modelId: "m", prompt: "a" })).rejects.toMatchObject({
      param: "width",
    });
  });

  it.each([
    "Unsupported size: 1024x576",
    "Invalid value: '1024x576'. Supported values are: '1024x1024' and 'auto'.",
  ])("may make other sizes (%s)", async (message) => {
    const script: Script = (exchange) =>
      exchange.json().size === "64x48"
        ? drawing("vllm-omni/image")(exchange)
        : refusing((e) => e.sendJson(400, { error: { message, param: "size" } }))(exchange);
    const { backend } = await against("vllm/models", script, config);
    for (const size of [usual, small]) {
      expect((await generate(backend, { modelId: "m", ...size })).images).toHaveLength(1);
    }
    expect(backend.models()[0]?.supports).toEqual(expect.arrayContaining(["width", "height"]));
  });

  it("is asked without the one that somebody asked for where the operator ignores that", async () => {
    const { backend, sent } = await against("vllm/models", xai, config);
    const core = coreOf([backend], { models: [{ name: "m", unsupported: "ignore" }] });
    const request = { modelId: "m", prompt: "a", safetyCheck: false, width: 1024, height: 1024 };
    const [answer] = await run(core, "textToImage", request);
    expect(answer?.images).toHaveLength(1);
    expect(answer?.warnings).toContain("size: not supported by this model, ignored");
    expect(sent().map(({ size }) => size)).toEqual(["1024x1024", undefined]);
  });

  it("fails as it refuses, where it refuses without a size, too", async () => {
    const script: Script = (exchange) => exchange.play(fixture("xai/image-refuses-size"));
    const { backend, sent } = await against("vllm/models", script, config);
    const error = await failure(generate(backend, { modelId: "m", ...usual }));
    expect(error).toMatchObject({ code: "unsupported_parameter" });
    expect(sent()).toHaveLength(2);
  });
});

describe("SGLang with files of its own", () => {
  it("is asked for them, with the key", async () => {
    const png = drawn({ ...small, seed: 1, prompt: "" });
    const script: Script = (exchange) => exchange.play(fixture("sglang/image-url"));
    const { server, backend } = await against("sglang/models-diffusion", script, { api_key: "k" });
    server.route("/v1/images/5b0d/content", (e) => e.send(200, {}, png));
    const { images } = await generate(backend, { modelId: "black-forest-labs/FLUX.1-dev" });
    expect(pixels(images[0]?.data ?? new Uint8Array())).toEqual(pixels(png));
    expect(server.requests.at(-1)?.headers.authorization).toBe("Bearer k");
  });
});
