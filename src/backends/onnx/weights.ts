/** The graphs of a model that its prompts and its latents go through. */
import { files, type ModelFolder } from "./folder.js";
import { Graph, type Signature } from "./graph.js";
import type { Runtime } from "./runtime.js";
import { type EncodePrompt, type Encoder, outputsOf, promptEncoder } from "./text.js";
import { promptTokenizer } from "./tokens.js";
import { unetExtras, unetInputs } from "./unet.js";

/** What LoRAs can change: the model as it is, or with some fused in. */
export interface Weights {
  readonly encoders: readonly Encoder[];
  readonly unet: Graph;
  readonly encode: EncodePrompt;
}

/** How graphs are loaded. */
export interface Loading {
  readonly runtime: Runtime;
  readonly folder: ModelFolder;
  /** Threads that one run uses. */
  readonly threads: number;
}

/** Parts of a model, by the names of their folders. */
export const signatures = {
  encoder: { inputs: ["input_ids"], outputs: [] },
  unet: { inputs: unetInputs, optional: unetExtras, outputs: ["out_sample"] },
  vae: { inputs: ["latent_sample"], outputs: ["sample"] },
} as const satisfies Record<string, Signature>;

/** A model's parts in memory. */
export interface Parts {
  readonly weights: Weights;
  readonly vae: Graph;
}

/**
 * Loads the parts of a model.
 * @throws ModelProblem that names the file at fault; nothing stays loaded then
 */
export async function loadParts({ runtime, folder, threads }: Loading): Promise<Parts> {
  const loaded: Graph[] = [];
  const load = async (file: string, signature: Signature) => {
    const graph = await Graph.load(runtime, folder.path, file, signature, threads);
    loaded.push(graph);
    return graph;
  };
  try {
    const encoders: Encoder[] = [];
    for (const [i, encoder] of folder.encoders.entries()) {
      const tokenize = promptTokenizer(runtime, encoder);
      const graph = await load(`${encoder.name}/model.onnx`, signatures.encoder);
      const outputs = outputsOf(graph, folder.layout, i === folder.encoders.length - 1);
      encoders.push({ tokenize, graph, outputs });
    }
    const unet = await load(files.unet, signatures.unet);
    const vae = await load(files.vae, signatures.vae);
    return { weights: { encoders, unet, encode: promptEncoder(encoders) }, vae };
  } catch (error) {
    for (const graph of loaded) await graph.release();
    throw error;
  }
}
