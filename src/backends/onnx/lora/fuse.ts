/** Fuses LoRAs into the weights of a model, as diffusers' `fuse_lora` does. */
import type { OnnxFile } from "../file/onnx.js";
import { numbersOf, type Rewritten, rewriteOnnx } from "../file/rewrite.js";
import { JobProblem, ModelProblem } from "../problem.js";
import type { Runtime } from "../runtime.js";
import { Adder, addableTypes, type Matrix, turned } from "./adder.js";
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
 * @param check called with the parts that are going to be changed; throws to stop
 * @throws ModelProblem if a file is broken, JobProblem if a LoRA does not fit the model
 */
export async function fuse(
  runtime: Runtime,
  files: ReadonlyMap<Part, OnnxFile>,
  layers: number,
  loras: readonly LoraUse[],
  check: (changed: readonly OnnxFile[]) => void = () => {},
): Promise<Fused> {
  const modules = new Map([...files].map(([part, file]) => [part, modulesOf(file)]));
  const additions = new Map<Part, Map<string, Addition[]>>();
  const warnings: string[] = [];
  for (const { id, path, weight } of loras) {
    const factors = await readLora(path);
    let missed = 0;
    for (const factor of factors) {
      const name = moduleName(factor, modules.get(factor.part), layers);
      if (name === undefined) {
        missed++;
        continue;
      }
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
  }
  check([...additions.keys()].map((part) => files.get(part) as OnnxFile));
  const parts = new Map<Part, Rewritten>();
  const adders = new Adders(runtime);
  try {
    for (const [part, changed] of additions) {
      const file = files.get(part) as OnnxFile;
      const replaced = new Map<string, Uint8Array>();
      for (const [name, list] of changed) {
        const module = modules.get(part)?.get(name) as Module;
        replaced.set(module.weight.name, await sum(file, name, module, list, adders));
      }
      parts.set(part, rewriteOnnx(file, replaced));
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

/** The weight of a module with everything added. */
async function sum(
  file: OnnxFile,
  name: string,
  { weight, transposed, shared }: Module,
  additions: readonly Addition[],
  adders: Adders,
): Promise<Uint8Array> {
  if (shared) {
    throw new ModelProblem(
      `${file.name}: ${name}: shares its weight, so that no LoRA can change it`,
    );
  }
  const adder = weight.data && (await adders.of(weight.type));
  if (!adder) {
    throw new ModelProblem(`${file.name}: ${name}: is stored in a way that no LoRA can change`);
  }
  const [first = 0, ...rest] = weight.dims;
  const others = rest.reduce((product, size) => product * size, 1);
  const [outputs, inputs] = transposed ? [others, first] : [first, others];
  let bytes: Uint8Array = numbersOf(file, weight);
  for (const { id, factors, scale } of additions) {
    const { up, down } = matrices(factors, scale);
    if (up.rows !== outputs || down.columns !== inputs) {
      const shapes = `${up.rows} x ${down.columns} instead of ${outputs} x ${inputs}`;
      throw misfit(id, `its ${name} is ${shapes}`);
    }
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
  readonly #open = new Map<number, Adder>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  async of(type: number): Promise<Adder | undefined> {
    if (!Object.hasOwn(addableTypes, type)) return undefined;
    const adder =
      this.#open.get(type) ?? (await Adder.open(this.#runtime, type as keyof typeof addableTypes));
    this.#open.set(type, adder);
    return adder;
  }

  async release(): Promise<void> {
    for (const adder of this.#open.values()) await adder.release();
  }
}
