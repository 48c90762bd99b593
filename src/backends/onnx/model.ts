/** The image model as the list of models has it. */
import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { type Model, PromptBar, type State, Task } from "../../../gen/lintel/v1/models_pb.js";
import { modelOf } from "../../core/model.js";
import { readRegular } from "../../regular-file.js";
import { lookAt } from "../local.js";
import { readOnnx } from "./file/onnx.js";
import { classOf, files } from "./folder.js";
import { memoryOf } from "./memory.js";
import { hasChecker } from "./safety/checker.js";

/** Request fields that the pipeline honours for every model. */
const always = [
  "height",
  "width",
  "guidance_scale",
  "negative_prompt",
  "seed",
  "num_inference_steps",
  "num_images_per_prompt",
  "include_previews",
  // Files may be put there while the model is served.
  "loras",
];

/** What there is to say of a folder without loading it. */
export function describeModel(
  id: string,
  folder: string,
  loras: readonly string[],
  bar: "batch" | "encoders",
  state: State,
): Model {
  return modelOf(id, Task.TEXT_TO_IMAGE, {
    state,
    supports: [...always, ...(hasChecker(folder) ? ["safety_check"] : [])],
    promptBar: bar === "encoders" ? PromptBar.ENCODERS : PromptBar.BATCH,
    loras: [...loras],
    defaults: defaultsOf(folder),
    created: Math.floor(Date.now() / 1000),
    source: folder,
    sizeBytes: BigInt(bytesIn(folder)),
  });
}

/**
 * Models that were made for a few steps without guidance make a mess of the
 * contract's 50 steps at 7.5. Nothing in such a folder says so but its name, or
 * the name that it was exported from.
 */
function defaultsOf(folder: string): Record<string, number> {
  const { className, origin } = indexOf(folder);
  const names = `${basename(folder)} ${basename(origin)}`;
  if (/(?:^|[^a-z])(?:turbo|lightning)(?:$|[^a-z])/i.test(names)) {
    return { guidance_scale: 0, num_inference_steps: 4 };
  }
  return className === "LatentConsistencyModelPipeline" ? { num_inference_steps: 4 } : {};
}

/** What `model_index.json` says; loading the model reports what is wrong with it. */
function indexOf(folder: string): { className: string; origin: string } {
  try {
    const index = JSON.parse(readRegular(join(folder, files.index)).toString("utf8"));
    return {
      className: classOf(String(index._class_name ?? "")),
      origin: String(index._name_or_path ?? ""),
    };
  } catch {
    return { className: "", origin: "" };
  }
}

/** Bytes of everything in a folder but its LoRAs; 0 if it can't be read. */
function bytesIn(folder: string): number {
  try {
    // Files may be links, as in Hugging Face's cache.
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory() && basename(entry.parentPath) !== "loras")
      .map((entry) => lookAt(join(entry.parentPath, entry.name)))
      .reduce((sum, found) => sum + (found?.isFile() ? found.size : 0), 0);
  } catch {
    return 0;
  }
}

/** The folders of graphs that are loaded. */
const graphs = ["text_encoder", "text_encoder_2", "unet", "vae_decoder", "safety_checker"];

/**
 * Bytes of memory that a folder's model will take, about: on the CPU, what is in
 * half precision takes twice its file. Where a graph can't be read, which loading
 * will report, the bytes of the files.
 */
export function memoryIn(folder: string, onGpu: boolean): number {
  const present = graphs
    .map((name) => `${name}/model.onnx`)
    .filter((name) => existsSync(join(folder, name)));
  try {
    const files = present.map((name) => readOnnx(folder, name));
    return memoryOf(files, onGpu) || bytesIn(folder);
  } catch {
    return bytesIn(folder);
  }
}
