/** What goes to servers of the web API, and what is made of their answers. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type {
  StreamTextToImageResponse,
  TextToImageRequest,
} from "../../gen/lintel/v1/image_pb.js";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { readCheckpoints } from "../../src/backends/sdapi/inventory.js";
import type { Backend } from "../../src/core/backend.js";
import { LintelError } from "../../src/core/errors.js";
import { never } from "../support/calls.js";
import { fixture } from "./fixture.js";
import { pixelsOf } from "./paint.js";
import { type Product, pictureOf, Webui } from "./sdapi-server.js";
import { backendFor, smallRequest } from "./sdapi-subject.js";
import { callOf } from "./subject.js";
import { Upstream } from "./upstream.js";

type Event = StreamTextToImageResponse["event"];

async function against(product: Product, config: object = {}) {
  const webui = await Webui.start(product);
  const backend = backendFor(webui.upstream.url, config);
  onTestFinished(() => webui.upstream.close());
  onTestFinished(() => backend.close());
  await backend.ready?.("", never);
  return { webui, backend };
}

/** Gives each event to a listener as it comes; resolves with all. */
async function run(
  backend: Backend,
  request: Partial<TextToImageRequest> = {},
  by: AbortSignal = never,
  listen: (event: Event) => void = () => {},
): Promise<Event[]> {
  const { streamTextToImage } = backend.handlers;
  if (!streamTextToImage) throw new Error("no handler");
  const events: Event[] = [];
  const modelId = backend.models()[0]?.id ?? "";
  const call = callOf("streamTextToImage", smallRequest({ modelId, ...request }), by);
  for await (const step of streamTextToImage(call)) {
    for (const { event } of step) {
      events.push(event);
      listen(event);
    }
  }
  return events;
}

const imagesOf = (events: Event[]) =>
  events.flatMap((event) =>
    event.case === "image" && event.value.media ? [event.value.media] : [],
  );
const progressOf = (events: Event[]) =>
  events.flatMap((event) => (event.case === "progress" ? [event.value] : []));
const failed = (code: string) => expect.objectContaining({ name: "LintelError", code });

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

  it("of another seed than asked for say so", async () => {
    const { webui, backend } = await against("a1111");
    const png = pictureOf({ width: 64, height: 64 }, 1).toString("base64");
    const info = JSON.stringify({ all_seeds: [99] });
    webui.next.push((exchange) => exchange.sendJson(200, { images: [png], info }));
    expect(imagesOf(await run(backend)).map(({ seed }) => seed)).toEqual([99]);
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

describe("the server's one progress", () => {
  it("is ours while our task runs; until then our place in its queue is told", async () => {
    const { webui, backend } = await against("a1111");
    const other = webui.occupy();
    const events = await run(backend, {}, never, (event) => {
      if (event.case === "progress" && event.value.queuePosition) other.done();
    });
    const [first, ...rest] = progressOf(events);
    expect(first?.queuePosition).toBe(1);
    const running = rest.filter(({ queuePosition }) => queuePosition === undefined);
    expect(running.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4]);
  });

  it.each(["old", "sdnext"] as const)(
    "of %s is nobody's where something else ran before",
    async (product) => {
      const { webui, backend } = await against(product);
      const other = webui.occupy();
      const running = run(backend);
      await untilAsked(webui);
      other.done();
      webui.finish();
      expect(progressOf(await running).map(({ step }) => step)).toEqual([4]);
    },
  );

  it.each(["a1111", "sdnext"] as const)(
    "of %s tells that somebody interrupted ours: half an image is none",
    async (product) => {
      const { webui, backend } = await against(product);
      const running = run(backend, {}, never, () => {
        webui.halted = true;
      });
      await expect(running).rejects.toThrowError(failed("upstream_failed"));
      webui.halted = false;
      expect(imagesOf(await run(backend))).toHaveLength(1);
    },
  );

  it("interrupts what waits once it runs, and nobody else's", async () => {
    const { webui, backend } = await against("a1111");
    const other = webui.occupy();
    const caller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const running = run(backend, {}, caller.signal, () => caller.abort(reason));
    await expect(running).rejects.toBe(reason);
    const interrupted = new Promise<void>((resolve) => {
      webui.onStop = resolve;
    });
    other.done();
    await interrupted;
    expect(webui.interrupted).toEqual(["a red cube"]);
    expect(imagesOf(await run(backend))).toHaveLength(1);
  });

  it("interrupts what runs also where the server was too busy to answer at first", async () => {
    const { webui, backend } = await against("a1111");
    const caller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const interrupted = new Promise<void>((resolve) => {
      webui.onStop = resolve;
    });
    let late = 3;
    webui.upstream.route("/internal/progress", (exchange) => {
      const active = { active: true, queued: false, completed: false };
      return caller.signal.aborted && late-- > 0
        ? exchange.send(504, {}, "")
        : exchange.sendJson(200, active);
    });
    const running = run(backend, {}, caller.signal, () => caller.abort(reason));
    await expect(running).rejects.toBe(reason);
    await interrupted;
    expect(webui.interrupted).toEqual(["a red cube"]);
  });

  it("interrupts nothing where it may be somebody else's", async () => {
    const { webui, backend } = await against("old");
    webui.occupy();
    const caller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const running = run(backend, {}, caller.signal);
    await untilAsked(webui);
    caller.abort(reason);
    await expect(running).rejects.toBe(reason);
    await backend.close();
    expect(webui.interrupted).toEqual([]);
  });
});

describe("calls at once", () => {
  it("are sent one after the other, and who waits knows the place", async () => {
    const { webui, backend } = await against("a1111");
    const runs = ["a", "b", "c"].map((prompt) => run(backend, { prompt }));
    const events = await Promise.all(runs);
    expect(webui.asked.map(({ prompt }) => prompt)).toEqual(["a", "b", "c"]);
    const places = events.map((list) =>
      progressOf(list).flatMap(({ queuePosition }) => queuePosition ?? []),
    );
    expect(places).toEqual([[], [1], [2, 1]]);
  });

  it("are not held up by who reads slowly", async () => {
    const { webui, backend } = await against("a1111");
    const modelId = backend.models()[0]?.id ?? "";
    const call = callOf("streamTextToImage", smallRequest({ modelId, prompt: "a" }));
    const slow = backend.handlers.streamTextToImage?.(call)[Symbol.asyncIterator]();
    await slow?.next();
    webui.finish();
    expect(imagesOf(await run(backend, { prompt: "b" }))).toHaveLength(1);
    const rest: Event[] = [];
    for (let step = await slow?.next(); step && !step.done; step = await slow?.next()) {
      rest.push(...step.value.map(({ event }) => event));
    }
    expect(imagesOf(rest)).toHaveLength(1);
  });

  it("that are given up while they wait are never sent", async () => {
    const { webui, backend } = await against("a1111");
    const caller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const first = run(backend, { prompt: "a" });
    const second = run(backend, { prompt: "b" }, caller.signal, () => caller.abort(reason));
    await expect(second).rejects.toBe(reason);
    await first;
    await run(backend, { prompt: "c" });
    expect(webui.asked.map(({ prompt }) => prompt)).toEqual(["a", "c"]);
  });
});

describe("the models", () => {
  it.each([
    ["a1111", ["v1-5-pruned-emaonly", "xl_sd_xl_base_1.0"], "AUTOMATIC1111"],
    ["sdnext", ["v1-5-pruned-emaonly"], "SD.Next"],
    ["sdcpp", ["sd-v1-4"], "stable-diffusion.cpp"],
    ["koboldcpp", ["sd-v1-4"], "KoboldCpp"],
  ] as const)("of %s are those that it lists", async (product, ids, source) => {
    const { backend } = await against(product);
    expect(backend.models().map(({ id }) => id)).toEqual(ids);
    const [model] = backend.models();
    expect(model).toMatchObject({ state: State.READY, source });
    expect(model?.supports).toContain("loras");
    const webui = source === "AUTOMATIC1111" || source === "SD.Next";
    expect(model?.supports.includes("include_previews")).toBe(webui);
    expect(model?.loras).toEqual(webui ? ["pixel-art-v2", "watercolor"] : ["watercolor"]);
  });

  it("are those that are configured, and what is missing says so", async () => {
    const models = ["sd_xl_base_1.0", "gone"];
    const { backend } = await against("a1111", { models });
    expect(backend.models()).toMatchObject([
      { id: "sd_xl_base_1.0", state: State.READY },
      { id: "gone", state: State.FAILED, stateDetail: "the model server does not have it" },
    ]);
    expect(imagesOf(await run(backend))).toHaveLength(1);
    await expect(run(backend, { modelId: "gone" })).rejects.toThrowError(failed("model_not_found"));
  });

  it("that are configured by their titles are there also once the server knows their hashes", async () => {
    const title = "xl/sd_xl_base_1.0.safetensors";
    const { webui, backend } = await against("a1111", { models: [title], refresh: 1 });
    expect(backend.models()).toMatchObject([{ id: title, state: State.READY }]);
    webui.upstream.route("/sdapi/v1/sd-models", (exchange) =>
      exchange.sendJson(200, [
        {
          title: `${title} [31e35c80fc]`,
          model_name: "xl_sd_xl_base_1.0",
          hash: "31e35c80fc",
          filename: `/srv/webui/models/Stable-diffusion/${title}`,
        },
      ]),
    );
    const listed = webui.times("/sdapi/v1/sd-models");
    await vi.waitUntil(() => webui.times("/sdapi/v1/sd-models") >= listed + 3);
    expect(backend.models()).toMatchObject([{ id: title, state: State.READY }]);
    await run(backend, { modelId: title });
    expect(webui.asked[0].override_settings.sd_model_checkpoint).toBe(`${title} [31e35c80fc]`);
  });

  it("of one name keep theirs once the server knows their hashes", () => {
    const listed = (hash: string) =>
      [".ckpt", ".safetensors"].map((end) => ({ title: `x${end}${hash}`, model_name: "x" }));
    for (const hash of ["", " [31e35c80fc]"]) {
      const ids = readCheckpoints(listed(hash)).map(({ id }) => id);
      expect(ids).toEqual(["x", "x.safetensors"]);
    }
  });

  it("don't take LoRAs where the server knows none", async () => {
    const upstream = await Upstream.start((exchange) =>
      exchange.play(
        fixture(/sd-models/.test(exchange.request.path) ? "a1111/models" : "a1111/no-api"),
      ),
    );
    onTestFinished(() => upstream.close());
    const backend = backendFor(upstream.url);
    onTestFinished(() => backend.close());
    await backend.ready?.("", never);
    expect(backend.models()[0]?.supports).not.toContain("loras");
  });

  it("take LoRAs also where what was noted of their training fills megabytes", async () => {
    const webui = await Webui.start();
    onTestFinished(() => webui.upstream.close());
    const metadata = { ss_tag_frequency: "x".repeat(18 * 1024 * 1024) };
    webui.upstream.route("/sdapi/v1/loras", (exchange) =>
      exchange.sendJson(200, [{ name: "watercolor", alias: "", path: "", metadata }]),
    );
    const backend = backendFor(webui.upstream.url);
    onTestFinished(() => backend.close());
    await backend.ready?.("", never);
    expect(backend.models()[0]).toMatchObject({ loras: ["watercolor"] });
    await run(backend, { loras: '{"watercolor":1}' });
    expect(webui.asked[0].prompt).toBe("a red cube<lora:watercolor:1>");
  });

  it("take LoRAs, and follow tasks, also while a busy server can't say so again", async () => {
    const webui = await Webui.start();
    onTestFinished(() => webui.upstream.close());
    const backend = backendFor(webui.upstream.url, { refresh: 1 });
    onTestFinished(() => backend.close());
    await backend.ready?.("", never);
    const listed = (times: number) =>
      vi.waitUntil(() => webui.times("/sdapi/v1/sd-models") >= times);
    for (const path of ["/sdapi/v1/loras", "/internal/progress"]) {
      webui.upstream.route(path, (exchange) => exchange.send(500, {}, ""));
    }
    // The one that is on its way may have been answered before, and the last one is not yet over.
    await listed(webui.times("/sdapi/v1/sd-models") + 3);
    expect(backend.models()[0]?.supports).toContain("loras");
    webui.next.push((exchange) => exchange.send(500, {}, ""));
    await expect(run(backend, { loras: '{"watercolor":1}' })).rejects.toThrowError();
    expect(webui.asked[0]).toMatchObject({
      prompt: "a red cube<lora:watercolor:1>",
      force_task_id: expect.stringContaining("task(lintel-"),
    });
  });

  it("are a web UI's no longer once stable-diffusion.cpp, behind a page for every path, is in its place", async () => {
    const { webui, backend } = await against("a1111", { refresh: 1 });
    webui.upstream.route("/api/extra/version", (exchange) =>
      exchange.send(200, { "content-type": "text/html" }, "<!doctype html>"),
    );
    webui.upstream.route("/sdapi/v1/sd-models", (exchange) =>
      exchange.play(fixture("sdcpp/models")),
    );
    const source = "stable-diffusion.cpp";
    const listed = webui.times("/sdapi/v1/sd-models");
    await vi.waitUntil(() => webui.times("/sdapi/v1/sd-models") >= listed + 3);
    expect(backend.models()[0]).toMatchObject({ id: "sd-v1-4", source });
  });

  it.each([
    ["refuses the password", "a1111/unauthorized"],
    ["has no API", "a1111/no-api"],
  ])("can't be read where the server %s", async (_what, name) => {
    const upstream = await Upstream.start((exchange) => exchange.play(fixture(name)));
    onTestFinished(() => upstream.close());
    const backend = backendFor(upstream.url, { username: "ada", password: "secret" });
    onTestFinished(() => backend.close());
    const error = await backend.ready?.("", never).catch((thrown: unknown) => thrown);
    expect(error).toEqual(failed("upstream_failed"));
    expect((error as Error).message).not.toMatch(/secret|ada|127/);
    await expect(backend.health(never)).rejects.toThrowError(failed("upstream_failed"));
  });
});

/** Until the server was asked for images. */
async function untilAsked({ upstream }: Webui): Promise<void> {
  for (let n = 1; !upstream.requests.some(({ path }) => path.endsWith("/txt2img")); n++) {
    await upstream.received(n);
  }
}
