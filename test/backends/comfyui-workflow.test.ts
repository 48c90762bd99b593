/** Workflows of one's own. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { noSeed } from "../../src/core/image-events.js";
import { against, run, thrownBy } from "./comfyui-calls.js";
import { play } from "./comfyui-server.js";
import { backendFor } from "./comfyui-subject.js";
import { fixture } from "./fixture.js";
import { imagesOf } from "./image-events.js";

/** A folder with a workflow file. */
function fileWith(content: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), "lintel-comfyui-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "workflow.json");
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

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
