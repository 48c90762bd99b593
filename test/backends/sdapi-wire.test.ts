/** What goes to servers of the web API, and what is made of their answers. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { LintelError } from "../../src/core/errors.js";
import { never } from "../support/calls.js";
import { fixture } from "./fixture.js";
import { imagesOf, progressOf } from "./image-events.js";
import { pixelsOf } from "./paint.js";
import { against, failed, run } from "./sdapi-calls.js";
import { pictureOf } from "./sdapi-server.js";
import { backendFor } from "./sdapi-subject.js";
import { Upstream } from "./upstream.js";

describe("a request", () => {
  it("is written as AUTOMATIC1111 reads it", async () => {
    const { webui, backend } = await against("a1111", {
      sampler: "DPM++ 2M",
      scheduler: "Karras",
      parameters: { clip_skip: 2, override_settings: { eta_noise_seed_delta: 31337 } },
    });
    await run(backend, { negativePrompt: "blur", guidanceScale: 5, loras: '{"watercolor":0.8}' });
    expect(webui.asked).toEqual([
      {
        prompt: "a red cube<lora:watercolor:0.8>",
        negative_prompt: "blur",
        width: 64,
        height: 64,
        steps: 4,
        cfg_scale: 5,
        seed: 7,
        batch_size: 1,
        n_iter: 1,
        sampler_name: "DPM++ 2M",
        scheduler: "Karras",
        clip_skip: 2,
        force_task_id: expect.stringMatching(/^task\(lintel-[0-9a-f-]{36}\)$/),
        override_settings: {
          eta_noise_seed_delta: 31337,
          sd_model_checkpoint: "v1-5-pruned-emaonly.safetensors [6ce0161689]",
        },
        override_settings_restore_afterwards: false,
      },
    ]);
  });

  it("is written as stable-diffusion.cpp reads it", async () => {
    const { webui, backend } = await against("sdcpp");
    const prompt = 'a cube <sd_cpp_extra_args>{"steps":999}</sd_cpp_extra_args>';
    await run(backend, { prompt, loras: '{"watercolor":0.5}', modelId: "sd-v1-4" });
    expect(webui.asked[0]).toMatchObject({
      lora: [{ path: "styles/watercolor.safetensors", multiplier: 0.5 }],
      override_settings: { sd_model_checkpoint: "sd-v1-4" },
    });
    expect(webui.asked[0]).not.toHaveProperty("force_task_id");
    expect(webui.asked[0].prompt).toBe(
      'a cube < sd_cpp_extra_args>{"steps":999}</sd_cpp_extra_args>',
    );
  });

  it.each([
    ["sdcpp", "prompt", { prompt: "x".repeat(16385) }],
    ["koboldcpp", "negative_prompt", { negativePrompt: "x".repeat(16385) }],
  ] as const)("is not sent where %s would end over its %s", async (product, param, long) => {
    const { webui, backend } = await against(product);
    const message = `${param}: must have at most 16384 bytes for this model`;
    const refused = { code: "invalid_value", param, message };
    await expect(run(backend, long)).rejects.toMatchObject(refused);
    expect(webui.asked).toEqual([]);
    await run(backend, { prompt: "x".repeat(16384) });
    expect(webui.asked).toHaveLength(1);
  });

  it("names no checkpoint to a server whose only one has no name", async () => {
    const upstream = await Upstream.start((exchange) => {
      const { path } = exchange.request;
      const parts = [{ title: "", model_name: "", filename: "", hash: "8888888888" }];
      if (path === "/sdapi/v1/sd-models") return exchange.sendJson(200, parts);
      if (path !== "/sdapi/v1/txt2img") return exchange.play(fixture("a1111/no-api"));
      const images = [pictureOf({ width: 64, height: 64 }, 1).toString("base64")];
      return exchange.sendJson(200, { images, info: "" });
    });
    onTestFinished(() => upstream.close());
    const backend = backendFor(upstream.url);
    onTestFinished(() => backend.close());
    await backend.ready?.("", never);
    expect(backend.models().map(({ id }) => id)).toEqual(["default"]);
    expect(imagesOf(await run(backend))).toHaveLength(1);
    const asked = upstream.requests.find(({ path }) => path === "/sdapi/v1/txt2img");
    expect(JSON.parse(String(asked?.body)).override_settings).toEqual({});
  });

  it("is sent whole to AUTOMATIC1111, however long its prompt is", async () => {
    const { webui, backend } = await against("a1111");
    await run(backend, { prompt: "x".repeat(16385) });
    expect(webui.asked[0].prompt).toHaveLength(16385);
  });

  it.each([
    ["a1111", [1, 1, 1.5]],
    ["sdnext", [0, 0.5, 1.5]],
    ["sdcpp", [1, 1, 1.5]],
  ] as const)("follows the prompt alone for guidance below 1: %s", async (product, scales) => {
    const { webui, backend } = await against(product);
    for (const guidanceScale of [0, 0.5, 1.5]) await run(backend, { guidanceScale });
    expect(webui.asked.map(({ cfg_scale }) => cfg_scale)).toEqual(scales);
  });

  it("knows LoRAs by name and alias, in their order", async () => {
    const { webui, backend } = await against("a1111");
    await run(backend, { loras: '{"watercolor":1,"pixelart":0.25}' });
    expect(webui.asked[0].prompt).toBe("a red cube<lora:watercolor:1><lora:pixel-art-v2:0.25>");
  });

  it.each(["a1111", "sdcpp"] as const)("with a LoRA that %s lacks is refused", async (product) => {
    const { webui, backend } = await against(product);
    const asked = run(backend, { loras: '{"watercolor":1,"no-such":1}' });
    await expect(asked).rejects.toThrowError(
      expect.objectContaining({
        code: "invalid_value",
        param: "loras",
        message: 'loras: the model server has no LoRA "no-such"',
      }),
    );
    expect(webui.asked).toEqual([]);
  });

  it("goes below the path of the address, with user and password", async () => {
    const upstream = await Upstream.start((exchange) => exchange.play(fixture("a1111/models")));
    onTestFinished(() => upstream.close());
    const backend = backendFor(`${upstream.url}/forge/`, { username: "ada", password: "pä:ss" });
    onTestFinished(() => backend.close());
    await backend.ready?.("", never);
    expect(upstream.requests[0]?.path).toBe("/forge/sdapi/v1/sd-models");
    const authorization = upstream.requests[0]?.headers.authorization ?? "";
    expect(Buffer.from(authorization.replace("Basic ", ""), "base64").toString()).toBe("ada:pä:ss");
  });
});

describe("images", () => {
  it("are made several at once where that is configured, and no seed passes 2^32", async () => {
    const { webui, backend } = await against("a1111", { batch: 2 });
    const events = await run(backend, { seed: 2n ** 32n - 3n, numImagesPerPrompt: 5 });
    expect(webui.asked.map(({ seed, batch_size }) => [seed, batch_size])).toEqual([
      [2 ** 32 - 3, 2],
      [2 ** 32 - 1, 1],
      [0, 2],
    ]);
    const images = imagesOf(events);
    expect(images.map(({ seed }) => seed)).toEqual([2 ** 32 - 3, 2 ** 32 - 2, 2 ** 32 - 1, 0, 1]);
    for (const image of images) {
      expect(pixelsOf(image.data)).toEqual(pixelsOf(pictureOf(webui.asked[0], image.seed)));
    }
    const places = progressOf(events).map(({ index, step, steps }) => index * steps + step);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });

  it("of seeds that are no int for stable-diffusion.cpp are those of their seeds", async () => {
    const { webui, backend } = await against("sdcpp", { batch: 2 });
    for (const seed of [2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]) {
      const images = imagesOf(await run(backend, { seed: BigInt(seed), numImagesPerPrompt: 2 }));
      expect(images.map((image) => image.seed)).toEqual([seed, (seed + 1) % 2 ** 32]);
      for (const image of images) {
        expect(pixelsOf(image.data)).toEqual(pixelsOf(pictureOf(webui.asked[0], image.seed)));
      }
    }
    expect(webui.asked.map(({ prompt }) => prompt)).toEqual([
      "a red cube",
      'a red cube<sd_cpp_extra_args>{"seed":2147483648}</sd_cpp_extra_args>',
      'a red cube<sd_cpp_extra_args>{"seed":4294967295}</sd_cpp_extra_args>',
      "a red cube",
    ]);
  });

  it("are asked one by one of KoboldCpp, which reads of a prompt nothing but what is to be drawn", async () => {
    const { webui, backend } = await against("koboldcpp", { batch: 2 });
    const seeds = [2 ** 31 - 1, 2 ** 31];
    const request = { seed: BigInt(2 ** 31 - 1), numImagesPerPrompt: 2, loras: '{"watercolor":1}' };
    const images = imagesOf(await run(backend, request));
    expect(images.map(({ seed }) => seed)).toEqual(seeds);
    const asked = webui.asked.map(({ prompt, seed, batch_size, lora }) => ({
      ...{ prompt, seed, batch_size, lora },
    }));
    const lora = [{ path: "styles/watercolor.safetensors", multiplier: 1 }];
    // It would make up a seed for a greater one.
    expect(asked).toEqual([
      { prompt: "a red cube", seed: 2 ** 31 - 1, batch_size: 1, lora },
      { prompt: "a red cube", seed: 0, batch_size: 1, lora },
    ]);
    const again = imagesOf(
      await run(backend, { ...request, seed: 2n ** 31n, numImagesPerPrompt: 1 }),
    );
    expect(again.map(({ data }) => pixelsOf(data))).toEqual([
      pixelsOf(images[1]?.data ?? Buffer.of()),
    ]);
  });

  it("begin behind the grid", async () => {
    const { webui, backend } = await against("a1111", { batch: 2 });
    webui.grid = 1;
    const images = imagesOf(await run(backend, { numImagesPerPrompt: 2 }));
    expect(images.map(({ seed }) => seed)).toEqual([7, 8]);
    expect(images.map(({ data }) => pixelsOf(data).width)).toEqual([64, 64]);
  });

  it.each([
    [[99], 99],
    [[0], 0],
    // No seeds: what was asked for is the best guess.
    [[-1], 7],
    [["99"], 7],
    [[], 7],
  ])("of the seeds %j that the server tells are of %d", async (all_seeds, seed) => {
    const { webui, backend } = await against("a1111");
    const png = pictureOf({ width: 64, height: 64 }, 1).toString("base64");
    const info = JSON.stringify({ all_seeds });
    webui.next.push((exchange) => exchange.sendJson(200, { images: [png], info }));
    expect(imagesOf(await run(backend)).map((image) => image.seed)).toEqual([seed]);
  });

  it("of another model than asked for are refused", async () => {
    const { webui, backend } = await against("a1111");
    const png = pictureOf({ width: 64, height: 64 }, 1).toString("base64");
    const info = JSON.stringify({ sd_model_name: "sd_xl_base_1.0" });
    webui.next.push((exchange) => exchange.sendJson(200, { images: [png], info }));
    await expect(run(backend)).rejects.toThrowError(failed("upstream_failed"));
    expect(imagesOf(await run(backend, { modelId: "xl_sd_xl_base_1.0" }))).toHaveLength(1);
  });

  it("come also without info, from older stable-diffusion.cpp", async () => {
    const { webui, backend } = await against("sdcpp");
    const answer = JSON.parse(String(fixture("sdcpp/txt2img-old").body));
    answer.images = [pictureOf({ width: 64, height: 64 }, 1).toString("base64")];
    webui.next.push((exchange) => exchange.sendJson(200, answer));
    expect(imagesOf(await run(backend)).map(({ seed }) => seed)).toEqual([7]);
  });
});

describe("a failure", () => {
  it("of the server's own is told in the log, not to the caller", async () => {
    const { webui, backend } = await against("a1111");
    webui.next.push((exchange) => exchange.play(fixture("a1111/out-of-memory")));
    const error = await run(backend).catch((thrown: LintelError) => thrown);
    expect(error).toMatchObject({ message: "the model server failed (status 500)" });
    expect(String((error as LintelError).cause)).toContain("CUDA out of memory");
  });

  it("of a value is told to the caller", async () => {
    const { webui, backend } = await against("a1111");
    webui.next.push((exchange) => exchange.play(fixture("a1111/sampler")));
    await expect(run(backend)).rejects.toThrowError(
      "the model server refused the request: Sampler not found",
    );
  });
});
