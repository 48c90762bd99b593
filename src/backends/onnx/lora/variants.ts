/** A model as it is, and with LoRAs fused in: the latest combinations are kept. */
import { statSync } from "node:fs";
import type { OnnxFile } from "../file/onnx.js";
import { Graph } from "../graph.js";
import { checkMemory, memoryOf } from "../memory.js";
import { JobProblem, ModelProblem } from "../problem.js";
import { promptEncoder } from "../text.js";
import { type Loading, newNodes, signatures, type Weights } from "../weights.js";
import { fuse, type LoraUse } from "./fuse.js";
import type { Part } from "./names.js";

/** A combination, ready. */
interface Variant {
  readonly weights: Weights;
  readonly own: readonly Graph[];
  readonly warnings: readonly string[];
}

/** The weights of a model with each combination of LoRAs that was asked for last. */
export class Variants {
  readonly #loading: Loading;
  readonly #base: Weights;
  readonly #most: number;
  readonly #freeMemory: () => number;
  readonly #admit: (bytes: number) => Promise<void>;
  /** The least recently used first. */
  readonly #variants = new Map<string, Variant>();

  /**
   * @param most combinations that are kept, at least 1
   * @param freeMemory bytes that another combination may take
   * @param admit asked before combinations take so many bytes in all; throws if they may not
   */
  constructor(
    loading: Loading,
    base: Weights,
    most: number,
    freeMemory: () => number,
    admit: (bytes: number) => Promise<void>,
  ) {
    this.#loading = loading;
    this.#base = base;
    this.#most = most;
    this.#freeMemory = freeMemory;
    this.#admit = admit;
  }

  /** Bytes that the combinations take in memory, about. */
  get memory(): number {
    return this.#bytesOf([...this.#variants.values()]);
  }

  /**
   * The model with some LoRAs; without, as it is.
   * @throws JobProblem that names `loras`, if one can't be used
   */
  async of(loras: readonly LoraUse[]): Promise<Pick<Variant, "weights" | "warnings">> {
    // A LoRA of no weight is none: not even the order of a sum may change.
    const used = loras.filter(({ weight }) => weight !== 0).sort((a, b) => (a.id < b.id ? -1 : 1));
    if (used.length === 0) return { weights: this.#base, warnings: [] };
    const key = JSON.stringify(used.map((lora) => [lora, versionOf(lora.path)]));
    const variant = this.#variants.get(key) ?? (await this.#make(used));
    this.#variants.delete(key);
    this.#variants.set(key, variant);
    return variant;
  }

  async #make(loras: readonly LoraUse[]): Promise<Variant> {
    const { runtime, folder } = this.#loading;
    const files = new Map<Part, OnnxFile>([["unet", this.#base.unet.file]]);
    for (const [i, { graph }] of this.#base.encoders.entries()) {
      files.set(folder.encoders[i]?.name as Part, graph.file);
    }
    const layers = [folder.unet.layers_per_block ?? 2].flat()[0] ?? 2;
    const { parts, warnings } = await fuse(
      runtime,
      files,
      layers,
      loras,
      (file) => newNodes(this.#loading, file),
      (changed) => this.#makeRoom(changed),
    ).catch((error) => {
      if (!(error instanceof ModelProblem)) throw error;
      // The model does without: that it can't have this one is no fault of its own.
      throw new JobProblem("loras", error.message, { cause: error.cause });
    });
    const own: Graph[] = [];
    const open = async (part: Part, base: Graph) => {
      const source = parts.get(part);
      if (!source) return base;
      const signature = part === "unet" ? signatures.unet : signatures.encoder;
      const graph = await Graph.open(this.#loading, base.file, source, signature);
      own.push(graph);
      return graph;
    };
    try {
      const encoders = [];
      for (const [i, encoder] of this.#base.encoders.entries()) {
        const graph = await open(folder.encoders[i]?.name as Part, encoder.graph);
        encoders.push({ ...encoder, graph });
      }
      const unet = await open("unet", this.#base.unet);
      const changed = encoders.some(({ graph }) => own.includes(graph));
      const encode = changed ? promptEncoder(encoders) : this.#base.encode;
      return { weights: { encoders, unet, encode }, own, warnings };
    } catch (error) {
      for (const graph of own) await graph.release();
      throw error;
    }
  }

  /** Combinations leave before the next is made, and not for one that is refused. */
  async #makeRoom(changed: readonly OnnxFile[]): Promise<void> {
    const leaving = Math.max(0, this.#variants.size - (this.#most - 1));
    const staying = [...this.#variants.values()].slice(leaving);
    const { isGpu } = this.#loading.device;
    await this.#admit(this.#bytesOf(staying) + memoryOf(changed, isGpu));
    await this.#shrink(this.#most - 1);
    if (!isGpu) checkMemory(changed, this.#freeMemory());
  }

  #bytesOf(variants: readonly Variant[]): number {
    const own = variants.flatMap((variant) => variant.own.map(({ file }) => file));
    return memoryOf(own, this.#loading.device.isGpu);
  }

  async #shrink(most: number): Promise<void> {
    for (const [key, { own }] of this.#variants) {
      if (this.#variants.size <= most) return;
      this.#variants.delete(key);
      for (const graph of own) await graph.release();
    }
  }

  /** Frees the combinations, not the model itself; not while one runs. */
  release(): Promise<void> {
    return this.#shrink(0);
  }
}

/** Changes with the file. */
function versionOf(path: string): unknown {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && [found.size, found.mtimeMs];
}
