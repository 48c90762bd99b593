/** The graphs of a model that its prompts and its latents go through. */
import { fuseAttention } from "./attention/fuse.js";
import { type OnnxFile, readOnnx } from "./file/onnx.js";
import { type Changes, rewriteOnnx } from "./file/rewrite.js";
import { files, type ModelFolder } from "./folder.js";
import { type Execution, Graph, type Signature } from "./graph.js";
import { checkMemory, memoryOf } from "./memory.js";
import { ModelProblem } from "./problem.js";
import { Checker, checkerSignature, hasChecker, readProcessor } from "./safety/checker.js";
import { type EncodePrompt, type Encoder, outputsOf, promptEncoder } from "./text.js";
import { type PromptTokenizer, promptTokenizer } from "./tokens.js";
import { unetExtras, unetInputs } from "./unet.js";

/** What LoRAs can change: the model as it is, or with some fused in. */
export interface Weights {
  readonly encoders: readonly Encoder[];
  readonly unet: Graph;
  readonly encode: EncodePrompt;
}

/** How graphs are loaded. */
export interface Loading extends Execution {
  readonly folder: ModelFolder;
  /** Why attention runs as the files have it; absent: it runs as one node. */
  readonly unfused: string | undefined;
}

/** What comes in the place of a file's nodes. */
export const newNodes = ({ unfused }: Loading, file: OnnxFile): NonNullable<Changes["nodes"]> =>
  unfused === undefined ? fuseAttention(file) : new Map();

/** What the parts of a model must have. */
export const signatures = {
  encoder: { inputs: ["input_ids"], outputs: [] },
  unet: { inputs: unetInputs, optional: unetExtras, outputs: ["out_sample"] },
  vae: { inputs: ["latent_sample"], outputs: ["sample"] },
} as const satisfies Record<string, Signature>;

/** A model's parts in memory. */
export interface Parts {
  readonly weights: Weights;
  readonly vae: Graph;
  /** Absent: the model brings none. */
  readonly checker: Checker | undefined;
  /** Bytes that they take, about. */
  readonly memory: number;
}

/**
 * Loads the parts of a model.
 * @param free bytes of memory that they may take
 * @throws ModelProblem that names the file at fault; nothing stays loaded then
 */
export async function loadParts(loading: Loading, free: number): Promise<Parts> {
  const { runtime, device, folder } = loading;
  // First what is cheap: whether everything is there, and fits.
  const find = (name: string) => readOnnx(folder.path, name);
  const found = {
    encoders: folder.encoders.map(({ name }) => find(`${name}/model.onnx`)),
    unet: find(files.unet),
    vae: find(files.vae),
    checker: hasChecker(folder.path) ? find(files.checker) : undefined,
  };
  const all = [...found.encoders, found.unet, found.vae, ...(found.checker ? [found.checker] : [])];
  if (!device.isGpu) checkMemory(all, free);
  const tokenizers = folder.encoders.map((encoder) => promptTokenizer(runtime, encoder));
  const processor = found.checker && (await readProcessor(folder.path));

  const loaded: Graph[] = [];
  const open = async (file: OnnxFile, signature: Signature) => {
    const nodes = newNodes(loading, file);
    const source = nodes.size > 0 ? rewriteOnnx(file, { nodes }) : file.path;
    const graph = await Graph.open(loading, file, source, signature);
    loaded.push(graph);
    return graph;
  };
  try {
    const encoders: Encoder[] = [];
    for (const [i, file] of found.encoders.entries()) {
      const graph = await open(file, signatures.encoder);
      const outputs = outputsOf(graph, folder.layout, i === found.encoders.length - 1);
      encoders.push({ tokenize: tokenizers[i] as PromptTokenizer, graph, outputs });
    }
    const unet = await open(found.unet, signatures.unet);
    checkLayout(unet, folder);
    const vae = await open(found.vae, signatures.vae);
    const checker =
      found.checker && processor
        ? new Checker(await open(found.checker, checkerSignature), processor)
        : undefined;
    const weights = { encoders, unet, encode: promptEncoder(encoders) };
    return { weights, vae, checker, memory: memoryOf(all, device.isGpu) };
  } catch (error) {
    for (const graph of loaded) await graph.release();
    throw error;
  }
}

/** A folder whose index is of another model than its UNet would fail with the first picture. */
function checkLayout(unet: Graph, { layout }: ModelFolder): void {
  const isXl = unet.has("text_embeds");
  if (isXl === (layout === "xl")) return;
  const is = isXl ? "is of the SDXL layout" : "is not of the SDXL layout";
  throw new ModelProblem(`${files.unet}: ${is}, and ${files.index} says something else`);
}
