/** What goes to ComfyUI, and what is made of what it says. */
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { never } from "../support/calls.js";
import { against, run, thrownBy } from "./comfyui-calls.js";
import { frame, linesOf, pictureOf, play } from "./comfyui-server.js";
import { fixture } from "./fixture.js";
import { imagesOf, progressOf } from "./image-events.js";
import { paint, pixelsOf } from "./paint.js";

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

  it("has no LoRAs of the one before", async () => {
    const { comfy, backend } = await against();
    await run(backend, { loras: '{"pixel-art-v2":1}' });
    await run(backend);
    const types = comfy.submitted.map((workflow) =>
      Object.values(workflow).filter(({ class_type }) => class_type === "LoraLoader"),
    );
    expect(types.map(({ length }) => length)).toEqual([1, 0]);
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

  it("of one name keep the endings of their files", async () => {
    const { backend } = await against({}, (comfy) => {
      const files = ["a.ckpt", "a.safetensors", "b.ckpt"];
      const nodes = { CheckpointLoaderSimple: { input: { required: { ckpt_name: [files] } } } };
      const path = "/object_info/CheckpointLoaderSimple";
      comfy.next.push({ path, play: (response) => response.end(JSON.stringify(nodes)) });
    });
    expect(backend.models().map(({ id }) => id)).toEqual(["a.ckpt", "a.safetensors", "b"]);
  });

  it("have the workflow that their checkpoint needs, whatever they are called", async () => {
    const models = [{ name: "paint", checkpoint: "sd_xl_base_1.0.safetensors" }];
    const { comfy, backend } = await against({ models });
    await run(backend, { modelId: "paint" });
    expect(comfy.submitted[0]?.["2"]?.class_type).toBe("CLIPTextEncodeSDXL");
  });

  it("can't be read of a server that does not say what its nodes can be given", async () => {
    const opening = against({}, (comfy) => {
      const path = "/object_info/CheckpointLoaderSimple";
      comfy.next.push({ path, play: (response) => response.end("{}") });
    });
    await expect(opening).rejects.toThrow("answered without its checkpoints");
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
    expect(comfy.submitted[0]?.["1"]?.inputs.ckpt_name).toBe("anime\\dreamy.ckpt");
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
