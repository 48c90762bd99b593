/** Fuses LoRAs into the weights of a model, as diffusers' `fuse_lora` does. */
import type { OnnxFile } from "../file/onnx.js";
import { type Changes, numbersOf, type Rewritten, rewriteOnnx } from "../file/rewrite.js";
import { JobProblem } from "../problem.js";
import type { Runtime } from "../runtime.js";
import { type AddableType, Adder, isAddable, type Matrix, turned } from "./adder.js";
import { type Module, modulesOf } from "./modules.js";
import { flatten, fromStability, type Part } from "./names.js";
import { type Factors, readLora } from "./read.js";

/** A LoRA to fuse. */
export interface LoraUse {
  readonly id: string;
  readonly path: string;
  readonly weight: number;
}

/** What comes of fusing. */
export interface Fused {
  /** The parts that changed. */
  readonly parts: ReadonlyMap<Part, Rewritten>;
  /** What could not be done, in words for the caller. */
  readonly warnings: readonly string[];
}

/** One LoRA's contribution to one module. */
interface Addition {
  readonly id: string;
  readonly factors: Factors;
  readonly scale: number;
}

/**
 * Fuses.
 * @param files the parts of the model that LoRAs can change
 * @param layers resnets of each block of the UNet
 * @param nodesOf what comes in the place of a part's nodes
 * @param makeRoom called with the parts that are going to be changed, once nothing but
 *   memory stands in the way; throws to stop
 * @throws ModelProblem if a LoRA is broken, JobProblem if it does not fit the model
 */
export async function fuse(
  runtime: Runtime,
  files: ReadonlyMap<Part, OnnxFile>,
  layers: number,
  loras: readonly LoraUse[],
  nodesOf: (file: OnnxFile) => Changes["nodes"],
  makeRoom: (changed: readonly OnnxFile[]) => Promise<void>,
): Promise<Fused> {
  const modules = new Map([...files].map(([part, file]) => [part, modulesOf(file)]));
  const additions = new Map<Part, Map<string, Addition[]>>();
  const warnings: string[] = [];
  for (const { id, path, weight } of loras) {
    const { factors, others } = await readLora(path);
    let missed = 0;
    for (const factor of factors) {
      const known = modules.get(factor.part);
      const name = moduleName(factor, known, layers);
      if (name === undefined) {
        missed++;
        continue;
      }
      checkFit(id, factor, name, known?.get(name) as Module);
      const part = additions.get(factor.part) ?? new Map<string, Addition[]>();
      additions.set(factor.part, part);
      const list = part.get(name) ?? [];
      part.set(name, [...list, { id, factors: factor, scale: weight * factor.scale }]);
    }
    if (missed === factors.length)
      throw misfit(id, "this model has none of the modules it changes");
    if (missed > 0) {
      const share = `${missed} of its ${factors.length} modules`;
      warnings.push(`loras: ${JSON.stringify(id)}: this model lacks ${share}, they were left out`);
    }
    if (others.length > 0) {
      const what = `${others.length} of its tensors are no factors of a LoRA`;
      const one = JSON.stringify(others[0]?.slice(0, 100));
      warnings.push(`loras: ${JSON.stringify(id)}: ${what}, they were left out; ${one} is one`);
    }
  }
  await makeRoom([...additions.keys()].map((part) => files.get(part) as OnnxFile));
  const parts = new Map<Part, Rewritten>();
  const adders = new Adders(runtime);
  try {
    for (const [part, changed] of additions) {
      const file = files.get(part) as OnnxFile;
      const replaced = new Map<string, Uint8Array>();
      for (const [name, list] of changed) {
        const module = modules.get(part)?.get(name) as Module;
        replaced.set(module.weight.name, await sum(file, module, list, adders));
      }
      parts.set(part, rewriteOnnx(file, { weights: replaced, nodes: nodesOf(file) }));
    }
  } finally {
    await adders.release();
  }
  return { parts, warnings };
}

const misfit = (id: string, why: string) =>
  new JobProblem("loras", `${JSON.stringify(id)} does not fit this model: ${why}`);

/** The name in the model of what a LoRA calls a module. */
function moduleName(
  { module, flat }: Factors,
  modules: ReadonlyMap<string, Module> | undefined,
  layers: number,
): string | undefined {
  if (!modules) return undefined;
  if (!flat) return modules.has(module) ? module : undefined;
  const wanted = new Set([module, fromStability(module, layers)]);
  for (const name of modules.keys()) if (wanted.has(flatten(name))) return name;
  return undefined;
}

/** @throws JobProblem if a module can't be changed, or not by these factors */
function checkFit(id: string, { up, down }: Factors, name: string, module: Module): void {
  const { weight, transposed, shared } = module;
  if (shared) throw misfit(id, `its ${name} shares its weight with another module here`);
  if (!weight.data || !isAddable(weight.type)) {
    throw misfit(id, `its ${name} is stored here in a way that no LoRA can change`);
  }
  const [first = 0, ...rest] = weight.dims;
  const others = rest.reduce((product, size) => product * size, 1);
  const [outputs, inputs] = transposed ? [others, first] : [first, others];
  const rank = down.shape[0] as number;
  const [rows, columns] = [up.data.length / rank, down.data.length / rank];
  if (rows === outputs && columns === inputs) return;
  throw misfit(id, `its ${name} is ${rows} x ${columns} instead of ${outputs} x ${inputs}`);
}

/** The weight of a module with everything added. */
async function sum(
  file: OnnxFile,
  { weight, transposed }: Module,
  additions: readonly Addition[],
  adders: Adders,
): Promise<Uint8Array> {
  const adder = await adders.of(weight.type as AddableType);
  let bytes: Uint8Array = numbersOf(file, weight);
  for (const { factors, scale } of additions) {
    const { up, down } = matrices(factors, scale);
    bytes = transposed
      ? await adder.add(bytes, turned(down), turned(up))
      : await adder.add(bytes, up, down);
  }
  return bytes;
}

function matrices({ up, down }: Factors, scale: number): { up: Matrix; down: Matrix } {
  const rank = down.shape[0] as number;
  return {
    up: { data: up.data.map((x) => x * scale), rows: up.data.length / rank, columns: rank },
    down: { data: down.data, rows: rank, columns: down.data.length / rank },
  };
}

/** Adders as they are needed. */
class Adders {
  readonly #runtime: Runtime;
  readonly #open = new Map<AddableType, Adder>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  async of(type: AddableType): Promise<Adder> {
    const adder = this.#open.get(type) ?? (await Adder.open(this.#runtime, type));
    this.#open.set(type, adder);
    return adder;
  }

  async release(): Promise<void> {
    for (const adder of this.#open.values()) await adder.release();
  }
}
