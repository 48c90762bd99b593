/** What goes to ComfyUI, and what is made of what it says. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import type {
  StreamTextToImageResponse,
  TextToImageRequest,
} from "../../gen/lintel/v1/image_pb.js";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { Socket } from "../../src/backends/comfyui/socket.js";
import type { Backend } from "../../src/core/backend.js";
import { LintelError } from "../../src/core/errors.js";
import { noSeed } from "../../src/core/image-events.js";
import { never } from "../support/calls.js";
import { Comfy, frame, linesOf, type Play, pictureOf, play } from "./comfyui-server.js";
import { backendFor } from "./comfyui-subject.js";
import { fixture } from "./fixture.js";
import { paint, pixelsOf } from "./paint.js";
import { smallRequest } from "./sdapi-subject.js";
import { callOf } from "./subject.js";

type Event = StreamTextToImageResponse["event"];

async function against(config: object = {}, prepare: (comfy: Comfy) => void = () => {}) {
  const comfy = await Comfy.start();
  prepare(comfy);
  const backend = backendFor(comfy.url, config);
  onTestFinished(() => comfy.close());
  onTestFinished(() => backend.close());
  await backend.ready?.("", never);
  return { comfy, backend };
}

async function run(
  backend: Backend,
  request: Partial<TextToImageRequest> = {},
  by: AbortSignal = never,
  listen: (event: Event) => void = () => {},
): Promise<Event[]> {
  const { streamTextToImage } = backend.handlers;
  if (!streamTextToImage) throw new Error("no handler");
  const events: Event[] = [];
  const call = callOf("streamTextToImage", smallRequest(request), by);
  for await (const step of streamTextToImage(call)) {
    for (const { event } of step) {
      events.push(event);
      listen(event);
    }
  }
  return events;
}

const thrownBy = (promise: Promise<unknown>) =>
  promise.then(
    () => new Error("it succeeded"),
    (error: LintelError) => error,
  );
const imagesOf = (events: Event[]) =>
  events.flatMap((event) =>
    event.case === "image" && event.value.media ? [event.value.media] : [],
  );
const progressOf = (events: Event[]) =>
  events.flatMap((event) => (event.case === "progress" ? [event.value] : []));

/** A folder with a workflow file. */
function fileWith(content: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), "lintel-comfyui-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "workflow.json");
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

describe("a request", () => {
  it("fills the workflow for SD", async () => {
    const { comfy, backend } = await against({ sampler: "dpmpp_2m", scheduler: "karras" });
    await run(backend, { negativePrompt: "blur", guidanceScale: 5, width: 128 });
    const [workflow] = comfy.submitted;
    expect(workflow?.["1"]?.inputs.ckpt_name).toBe("v1-5-pruned-emaonly.safetensors");
    expect(workflow?.["2"]?.inputs.text).toBe("a red cube");
    expect(workflow?.["3"]?.inputs.text).toBe("blur");
    expect(workflow?.["4"]?.inputs).toEqual({ width: 128, height: 64, batch_size: 1 });
    expect(workflow?.["5"]?.inputs).toMatchObject({
      seed: 7,
      steps: 4,
      cfg: 5,
      sampler_name: "dpmpp_2m",
      scheduler: "karras",
      positive: ["2", 0],
      negative: ["3", 0],
    });
  });

  it.each(["v1-5-pruned-emaonly", "sd_xl_base_1.0"])(
    "follows the prompt alone for guidance below 1: %s",
    async (modelId) => {
      const { comfy, backend } = await against();
      for (const guidanceScale of [0, 0.5, 1.5]) await run(backend, { modelId, guidanceScale });
      expect(comfy.submitted.map((workflow) => workflow["5"]?.inputs.cfg)).toEqual([1, 1, 1.5]);
    },
  );

  it("fills the workflow for SDXL, which is told the size too", async () => {
    const { comfy, backend } = await against();
    await run(backend, { modelId: "sd_xl_base_1.0" });
    const [workflow] = comfy.submitted;
    expect(workflow?.["2"]).toMatchObject({
      class_type: "CLIPTextEncodeSDXL",
      inputs: { text_g: "a red cube", text_l: "a red cube", width: 64, target_height: 64 },
    });
    expect(workflow?.["1"]?.inputs.ckpt_name).toBe("sd_xl_base_1.0.safetensors");
  });

  it("puts LoRAs behind the checkpoint, in their order", async () => {
    const { comfy, backend } = await against();
    await run(backend, { loras: '{"pixel-art-v2":0.5,"styles/watercolor":1}' });
    const [workflow] = comfy.submitted;
    expect(workflow?.["lintel-lora-1"]).toEqual({
      class_type: "LoraLoader",
      inputs: {
        lora_name: "pixel-art-v2.safetensors",
        strength_model: 0.5,
        strength_clip: 0.5,
        model: ["1", 0],
        clip: ["1", 1],
      },
    });
    expect(workflow?.["lintel-lora-2"]?.inputs).toMatchObject({
      lora_name: "styles\\watercolor.safetensors",
      model: ["lintel-lora-1", 0],
      clip: ["lintel-lora-1", 1],
    });
    expect(workflow?.["5"]?.inputs.model).toEqual(["lintel-lora-2", 0]);
    expect(workflow?.["2"]?.inputs.clip).toEqual(["lintel-lora-2", 1]);
    expect(workflow?.["6"]?.inputs.vae).toEqual(["1", 2]);
  });

  it("with an unknown LoRA is refused", async () => {
    const { comfy, backend } = await against();
    const error = await thrownBy(run(backend, { loras: '{"no-such":1}' }));
    expect(error).toMatchObject({ code: "invalid_value", param: "loras" });
    expect(error.message).toBe('loras: the model server has no LoRA "no-such"');
    expect(comfy.submitted).toEqual([]);
  });

  it("is a prompt for each image, with a seed of its own", async () => {
    const { comfy, backend } = await against();
    const events = await run(backend, { seed: 2n ** 32n - 1n, numImagesPerPrompt: 3 });
    expect(comfy.submitted.map((workflow) => workflow["5"]?.inputs.seed)).toEqual([
      2 ** 32 - 1,
      0,
      1,
    ]);
    const images = imagesOf(events);
    expect(images.map(({ seed }) => seed)).toEqual([2 ** 32 - 1, 0, 1]);
    for (const [i, image] of images.entries()) {
      expect(pixelsOf(image.data)).toEqual(pixelsOf(pictureOf(comfy.submitted[i] ?? {})));
    }
  });

  it("has its image saved anew, where ComfyUI would answer with the file of an earlier one", async () => {
    const { comfy, backend } = await against();
    await run(backend);
    await run(backend);
    const ids = comfy.requests
      .filter(({ path }) => path === "/prompt")
      .map(({ body }) => JSON.parse(body).prompt_id);
    const fresh = comfy.submitted.map((workflow) =>
      Object.values(workflow).flatMap(({ class_type: type, inputs }) =>
        "lintel_prompt" in inputs ? [[type, inputs.lintel_prompt]] : [],
      ),
    );
    expect(fresh).toEqual(ids.map((id) => [["PreviewImage", id]]));
    expect(new Set(ids).size).toBe(2);
  });

  it("carries the headers that a proxy wants, also for the websocket", async () => {
    const { comfy, backend } = await against({ headers: { Authorization: "Bearer key-123456" } });
    await run(backend);
    expect(comfy.headers.authorization).toBe("Bearer key-123456");
    expect(comfy.socketHeaders.authorization).toBe("Bearer key-123456");
  });
});

describe("a workflow of one's own", () => {
  const workflow = {
    "10": { class_type: "UNETLoader", inputs: { unet_name: "flux1-dev.safetensors" } },
    "11": { class_type: "CLIPTextEncode", inputs: { text: "", clip: ["12", 0] } },
    "13": { class_type: "RandomNoise", inputs: { noise_seed: 0 } },
    "14": { class_type: "SamplerCustomAdvanced", inputs: { noise: ["13", 0], model: ["10", 0] } },
    "15": { class_type: "EmptyLatentImage", inputs: { width: 64, height: 64 } },
    "16": { class_type: "KSampler", inputs: { steps: 4, model: ["10", 0] } },
    "17": { class_type: "SaveImage", inputs: { images: ["14", 0] } },
  };
  const map = {
    prompt: "11.text",
    seed: ["13.noise_seed"],
    num_inference_steps: "16.steps",
    loras: "10",
  };

  const websocketOnly = { class_type: "SaveImageWebsocket", inputs: { images: ["14", 0] } };

  it("may send its image over the websocket, too", () => {
    const models = [{ name: "flux", file: fileWith({ ...workflow, "9": websocketOnly }), map }];
    const backend = backendFor("http://127.0.0.1:9", { models });
    onTestFinished(() => backend.close());
    expect(backend.name).toBe("test");
  });

  it("gets what its map says, and supports no more", async () => {
    const models = [{ name: "flux", file: fileWith(workflow), map }];
    const { comfy, backend } = await against({ models });
    expect(backend.models()).toMatchObject([
      {
        id: "flux",
        state: State.READY,
        supports: [
          "num_inference_steps",
          "seed",
          "num_images_per_prompt",
          "include_previews",
          "loras",
        ],
        defaults: { num_inference_steps: 4 },
      },
    ]);
    await run(backend, { modelId: "flux", width: 512, loras: '{"pixel-art-v2":1}' });
    const [sent] = comfy.submitted;
    expect(sent?.["11"]?.inputs.text).toBe("a red cube");
    expect(sent?.["13"]?.inputs.noise_seed).toBe(7);
    expect(sent?.["15"]?.inputs.width).toBe(64);
    expect(sent?.["lintel-lora-1"]?.class_type).toBe("LoraLoaderModelOnly");
    expect(sent?.["14"]?.inputs.model).toEqual(["lintel-lora-1", 0]);
  });

  it("may have a LoRA of its own, which is no caller's", async () => {
    const own = { lora_name: "turbo.safetensors", strength_model: 1, model: ["10", 0] };
    const loader = { class_type: "LoraLoaderModelOnly", inputs: own };
    const sampler = { ...workflow["14"], inputs: { noise: ["13", 0], model: ["lora-1", 0] } };
    const models = [
      {
        name: "flux",
        file: fileWith({ ...workflow, "14": sampler, "lora-1": loader }),
        map: { ...map, loras: "lora-1" },
      },
    ];
    const { comfy, backend } = await against({ models });
    await run(backend, { modelId: "flux", loras: '{"pixel-art-v2":1}' });
    const [sent] = comfy.submitted;
    expect(sent?.["lora-1"]).toEqual(loader);
    expect(sent?.["lintel-lora-1"]?.inputs).toMatchObject({
      lora_name: "pixel-art-v2.safetensors",
      model: ["lora-1", 0],
    });
    expect(sent?.["14"]?.inputs.model).toEqual(["lintel-lora-1", 0]);
    const gone = fixture("comfyui/missing-lora");
    const body = Buffer.from(String(gone.body).replace("lintel-lora-1", "lora-1"));
    comfy.next.push({ path: "/prompt", play: play({ ...gone, body }) });
    const error = await thrownBy(run(backend, { modelId: "flux" }));
    expect(error).toMatchObject({ code: "upstream_failed", param: undefined });
    expect(error.message).toContain("node lora-1 (LoraLoader), lora_name: value not in list");
  });

  it("gets guidance below 1 as it is, except in inputs called cfg", async () => {
    const guided = {
      ...workflow,
      "18": { class_type: "FluxGuidance", inputs: { guidance: 3.5 } },
      "19": { class_type: "CFGGuider", inputs: { cfg: 1 } },
    };
    const to = { ...map, guidance_scale: ["18.guidance", "19.cfg"] };
    const models = [{ name: "flux", file: fileWith(guided), map: to }];
    const { comfy, backend } = await against({ models });
    await run(backend, { modelId: "flux", guidanceScale: 0 });
    const [sent] = comfy.submitted;
    expect([sent?.["18"]?.inputs.guidance, sent?.["19"]?.inputs.cfg]).toEqual([0, 1]);
  });

  it("whose map has no place for a seed has none", async () => {
    const { seed: _, ...seedless } = map;
    const models = [{ name: "flux", file: fileWith(workflow), map: seedless }];
    const { backend } = await against({ models });
    const events = await run(backend, { modelId: "flux", seed: undefined });
    expect(imagesOf(events).map(({ seed }) => seed)).toEqual([noSeed]);
  });

  it.each([
    ["no JSON", "{", map, "is not a workflow: not a JSON object"],
    ["the editor's format", { nodes: [], links: [] }, map, "export it for the API"],
    ["no nodes", { "1": { inputs: {} } }, map, '"1" is not a node'],
    ["no such node", workflow, { prompt: "99.text" }, "has no node 99, where prompt should go"],
    ["no such input", workflow, { prompt: "11.txt" }, 'has no input "txt" at node 11'],
    ["no such output", workflow, { ...map, output: "99" }, "has no node 99"],
    [
      "an image that only the websocket gets",
      { "14": { class_type: "Draw", inputs: { text: "" } }, "9": websocketOnly },
      { prompt: "14.text" },
      "gives its image at node 9 (SaveImageWebsocket), which keeps none: use SaveImage or PreviewImage",
    ],
    [
      "such an output",
      { ...workflow, "18": websocketOnly },
      { ...map, output: "18" },
      "gives its image at node 18 (SaveImageWebsocket)",
    ],
  ])("that is wrong is told at the start: %s", async (_what, content, wrong, words) => {
    const models = [{ name: "flux", file: fileWith(content), map: wrong }];
    expect(() => backendFor("http://127.0.0.1:9", { models })).toThrowError(words);
  });

  it.each([
    ["a map without a file", { name: "a", map }, "file is missing"],
    ["a file without a map", { name: "a", file: "x.json" }, "must say where the prompt goes"],
    ["a target without an input", { name: "a", file: "x.json", map: { prompt: "6" } }, "6.text"],
  ])("can't be configured with %s", (_what, model, words) => {
    expect(() => backendFor("http://127.0.0.1:9", { models: [model] })).toThrowError(words);
  });
});

describe("what ComfyUI says", () => {
  it("of a caller's value names the field", async () => {
    const { comfy, backend } = await against();
    comfy.next.push({ path: "/prompt", play: play(fixture("comfyui/too-wide")) });
    const error = await thrownBy(run(backend));
    expect(error).toMatchObject({ code: "invalid_value", param: "width" });
    expect(error.message).toBe("width: value 32768 bigger than max of 16384");
  });

  it("of a LoRA's weight, or of a LoRA that is gone by now, names loras", async () => {
    const { comfy, backend } = await against();
    const loras = '{"pixel-art-v2":1000}';
    comfy.next.push({ path: "/prompt", play: play(fixture("comfyui/too-strong")) });
    const error = await thrownBy(run(backend, { loras }));
    expect(error).toMatchObject({ code: "invalid_value", param: "loras" });
    expect(error.message).toBe("loras: value 1000.0 bigger than max of 100.0");
    comfy.next.push({ path: "/prompt", play: play(fixture("comfyui/missing-lora")) });
    expect(await thrownBy(run(backend, { loras }))).toMatchObject({
      code: "invalid_value",
      message: "loras: value not in list",
    });
  });

  it("of a node names the node and its input", async () => {
    const { comfy, backend } = await against();
    comfy.next.push({ path: "/prompt", play: play(fixture("comfyui/missing-checkpoint")) });
    const error = await thrownBy(run(backend));
    expect(error.message).toBe(
      "the model server refused the workflow: node 1 (CheckpointLoaderSimple), ckpt_name: value not in list",
    );
    expect(String(error.cause)).toContain("not in ['sd_xl_base_1.0.safetensors']");
    comfy.next.push({ path: "/prompt", play: play(fixture("comfyui/missing-node")) });
    expect((await thrownBy(run(backend))).message).toContain("UltimateSDUpscale does not exist");
  });

  it("of outputs that it leaves out is the reason where there is no image then", async () => {
    const { comfy, backend } = await against();
    const { node_errors } = JSON.parse(`${fixture("comfyui/too-wide").body}`);
    const json = (response: ServerResponse, value: object) =>
      void response.end(JSON.stringify(value));
    comfy.next.push({
      path: "/prompt",
      play: (response) => {
        const { prompt_id } = JSON.parse(comfy.requests.at(-1)?.body ?? "");
        const entry = { outputs: {}, status: { status_str: "success", completed: true } };
        comfy.next.push({
          path: `/history/${prompt_id}`,
          play: (r) => json(r, { [prompt_id]: entry }),
        });
        json(response, { prompt_id, number: 1, node_errors });
      },
    });
    expect(await thrownBy(run(backend))).toMatchObject({ code: "invalid_value", param: "width" });
  });

  it.each(["over the websocket", "in its history"])("of a node that failed, %s", async (where) => {
    const { comfy, backend } = await against();
    if (where === "in its history") comfy.deaf = true;
    comfy.messages = linesOf("error");
    comfy.history = "history-error";
    const error = await thrownBy(run(backend));
    expect(error.message).toBe("the model server failed in node 5 (KSampler)");
    expect(String(error.cause)).toContain("out of memory");
  });

  it("about steps of other prompts and nodes is passed over", async () => {
    const { comfy, backend } = await against();
    const step = (node: string, value: number, prompt_id = "ID") =>
      JSON.stringify({ type: "progress", data: { value, max: 4, prompt_id, node } });
    const [, started = ""] = linesOf("messages");
    const end = linesOf("messages").slice(-1);
    comfy.messages = [
      "nonsense",
      '{"type":"crystools.monitor","data":{"cpu_utilization":3}}',
      started,
      step("5", 1),
      step("6", 3),
      step("5", 3, "another"),
      step("5", 2),
      ...end,
    ];
    const events = await run(backend);
    expect(progressOf(events).map((progress) => progress.step)).toEqual([0, 1, 2, 4]);
  });

  it.each([
    ["with metadata", frame(4, paint(8, 8, 1), metadata({ image_type: "image/png" }))],
    ["of JPEG that nothing here can read", frame(1, Buffer.from([0xff, 0xd8, 0xff, 0]))],
    ["of text", frame(3, Buffer.from("thinking"))],
    ["cut off", Buffer.from([0, 0, 0, 1, 0])],
    ["with metadata that lies", frame(4, Buffer.from("x"), Buffer.from([255, 0, 0, 0]))],
  ])("in a frame %s is a preview or nothing", async (what, preview) => {
    const { comfy, backend } = await against();
    const [, started = "", , , progress = ""] = linesOf("messages");
    comfy.messages = [started, preview, progress, ...linesOf("messages").slice(-1)];
    const events = await run(backend, { includePreviews: true });
    const previews = progressOf(events).filter((event) => event.preview.length > 0);
    expect(previews).toHaveLength(what === "with metadata" ? 1 : 0);
    expect(imagesOf(events)).toHaveLength(1);
  });
});

describe("the queue", () => {
  it("tells how many are before, and goes on where the websocket ends", async () => {
    const { comfy, backend } = await against();
    const others = [comfy.occupy("a"), comfy.occupy("b")];
    const places: number[] = [];
    const events = await run(backend, {}, never, (event) => {
      if (event.case !== "progress" || event.value.queuePosition === undefined) return;
      places.push(event.value.queuePosition);
      comfy.hangUp();
      others.shift()?.done();
    });
    expect(places).toEqual([2, 1]);
    expect(imagesOf(events)).toHaveLength(1);
  });

  it("is left by who gives up, and nobody else is interrupted", async () => {
    const { comfy, backend } = await against();
    comfy.old = true;
    comfy.occupy("somebody");
    const caller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const stopped = new Promise<void>((resolve) => {
      comfy.onStop = resolve;
    });
    const running = run(backend, {}, caller.signal, () => caller.abort(reason));
    expect(await thrownBy(running)).toBe(reason);
    await stopped;
    await backend.close();
    expect(comfy.deleted).toHaveLength(1);
    expect(comfy.interrupted).toEqual([]);
    expect(comfy.listeners).toBe(0);
  });

  it("is left also by who gave up before the prompt was taken in", async () => {
    const { comfy, backend } = await against();
    comfy.occupy("somebody");
    const caller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const stopped = new Promise<void>((resolve) => {
      comfy.onStop = resolve;
    });
    // The request is on its way when the caller leaves.
    comfy.next.push({ path: "/object_info/LoraLoader", play: play(fixture("comfyui/loras")) });
    const running = run(backend, { loras: '{"pixel-art-v2":1}' }, caller.signal);
    await comfy.asked("/prompt");
    caller.abort(reason);
    expect(await thrownBy(running)).toBe(reason);
    await stopped;
    expect(comfy.deleted).toHaveLength(1);
  });

  it("is left also where the answer to the prompt does not come in its time", async () => {
    const { comfy, backend } = await against();
    comfy.occupy("somebody");
    const stopped = new Promise<void>((resolve) => {
      comfy.onStop = resolve;
    });
    const held = new Promise<string>((resolve) => {
      const play = () => {
        const { prompt_id: id } = JSON.parse(comfy.requests.at(-1)?.body ?? "");
        comfy.occupy(id);
        resolve(id);
      };
      comfy.next.push({ path: "/prompt", play });
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const error = thrownBy(run(backend));
    const id = await held;
    vi.advanceTimersByTime(30_000);
    expect(await error).toMatchObject({ code: "timeout", retry: "anywhere" });
    await stopped;
    expect(comfy.deleted).toEqual([id]);
  });

  it("may take too long to tell, some times in a row, also where a prompt is done or given up", async () => {
    const { comfy, backend } = await against();
    // As a proxy says it before a ComfyUI that answers nothing while it draws.
    const late = (path: string, times: number) => {
      const play: Play = (response) => void response.writeHead(504).end();
      for (let i = 0; i < times; i++) comfy.next.push({ path, play });
    };
    const other = comfy.occupy("somebody");
    late("/queue", 9);
    late("/history", 9);
    late("/view", 9);
    const events = await run(backend, {}, never, () => other.done());
    expect(imagesOf(events)).toHaveLength(1);
    comfy.occupy("another");
    late("/queue", 10);
    expect(await thrownBy(run(backend))).toMatchObject({ code: "timeout" });
    await vi.waitUntil(() => comfy.deleted.length === 1);
    const caller = new AbortController();
    const left = run(backend, {}, caller.signal, () => {
      late("/queue", 9);
      caller.abort(new LintelError("cancelled", "the caller left"));
    });
    expect(await thrownBy(left)).toMatchObject({ code: "cancelled" });
    await vi.waitUntil(() => comfy.deleted.length === 2);
  });

  it("that forgot the prompt is a failure", async () => {
    const { comfy, backend } = await against();
    comfy.stuck = "before";
    comfy.onStuck = () => {
      comfy.next.push({
        path: "/queue",
        play: (response) => response.end('{"queue_running":[],"queue_pending":[]}'),
      });
    };
    const error = await thrownBy(run(backend));
    expect(error.message).toBe("the model server does not know the request any more");
  });
});

describe("the models", () => {
  it("are the checkpoints", async () => {
    const { backend } = await against();
    expect(backend.models().map(({ id }) => id)).toEqual([
      "sd_xl_base_1.0",
      "v1-5-pruned-emaonly",
      "anime/dreamy",
    ]);
    expect(backend.models()[0]).toMatchObject({
      loras: ["pixel-art-v2", "styles/watercolor"],
      source: "ComfyUI",
    });
    expect(backend.models()[0]?.supports).toEqual(
      expect.arrayContaining(["seed", "width", "height", "negative_prompt", "loras"]),
    );
  });

  it("are read also where a node has the new schema", async () => {
    const { backend } = await against({}, (comfy) => {
      const path = "/object_info/CheckpointLoaderSimple";
      comfy.next.push({ path, play: play(fixture("comfyui/checkpoints-combo")) });
    });
    expect(backend.models().map(({ id }) => id)).toEqual(["v1-5-pruned-emaonly"]);
  });

  it("are those that are configured, and what is missing says so", async () => {
    const models = [
      { name: "dreamy", checkpoint: "anime\\dreamy.ckpt", workflow: "sdxl" },
      { name: "gone" },
    ];
    const { comfy, backend } = await against({ models });
    expect(backend.models()).toMatchObject([
      { id: "dreamy", state: State.READY },
      { id: "gone", state: State.FAILED, stateDetail: "ComfyUI lacks its checkpoint" },
    ]);
    await run(backend, { modelId: "dreamy" });
    expect(comfy.submitted[0]?.["2"]?.class_type).toBe("CLIPTextEncodeSDXL");
    const error = await thrownBy(run(backend, { modelId: "gone" }));
    expect(error).toMatchObject({ code: "model_not_found" });
  });

  it("can't be read where nobody listens", async () => {
    const { comfy, backend } = await against();
    await comfy.close();
    const error = await thrownBy(run(backend));
    expect(error).toMatchObject({ code: "upstream_unreachable" });
    expect(error.message).not.toMatch(/127|\d{4}/);
    expect(await thrownBy(backend.health(never))).toMatchObject({ code: "upstream_unreachable" });
  });
});

/** The length of some metadata, and the metadata. */
function metadata(value: object): Buffer {
  const json = Buffer.from(JSON.stringify(value));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  return Buffer.concat([length, json]);
}

describe("messages that nobody reads", () => {
  /** A connection to a server that says something and leaves, once all of it came. */
  async function flooded(say: (socket: WebSocket) => void): Promise<Socket> {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => server.close());
    server.on("connection", (socket) => {
      say(socket);
      socket.close();
    });
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    const url = `ws://127.0.0.1:${port}`;
    const socket = await Socket.open({ url, headers: {}, timeout: 10_000 });
    await vi.waitFor(() => expect(socket.alive).toBe(false));
    return socket;
  }

  const text = (type: string, data: object) => JSON.stringify({ type, data });

  async function all(socket: Socket) {
    const messages = [];
    for (let next = await socket.next(0); next; next = await socket.next(0)) messages.push(next);
    return messages;
  }

  it("pile up no further than they are worth: the end is among them, whatever came before", async () => {
    const socket = await flooded((socket) => {
      for (let value = 1; value <= 1500; value++) {
        socket.send(text("progress", { prompt_id: "p", node: "3", value, max: 1500 }));
      }
      socket.send(text("execution_success", { prompt_id: "p" }));
    });
    const messages = await all(socket);
    expect(messages).toHaveLength(1001);
    expect(messages.at(-1)?.type).toBe("finished");
  });

  it("have few large previews among them, the newest", async () => {
    const preview = (n: number) => {
      const head = [0, 0, 0, 1, 0, 0, 0, 2, n];
      return Buffer.concat([Buffer.from(head), Buffer.alloc(1.5 * 1024 * 1024)]);
    };
    const socket = await flooded((socket) => {
      for (let n = 1; n <= 50; n++) socket.send(preview(n));
      socket.send(text("execution_success", { prompt_id: "p" }));
    });
    const told = (await all(socket)).map((it) => (it.type === "preview" ? it.image[0] : it.type));
    expect(told).toEqual([49, 50, "finished"]);
  });

  it.each([
    ["thousands of them", 5000, ""],
    ["many bytes of them", 5, " ".repeat(10 * 1024 * 1024)],
  ])("end the connection where there are %s, and what came before is kept", async (_, n, more) => {
    const socket = await flooded((socket) => {
      for (let i = 0; i < n; i++)
        socket.send(text("execution_success", { prompt_id: `${i}`, more }));
    });
    const messages = await all(socket);
    expect(messages[0]).toEqual({ type: "finished", prompt: "0" });
    expect(messages).toHaveLength(n === 5 ? 3 : 2000);
  });
});
