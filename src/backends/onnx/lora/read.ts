/** Reads a LoRA: for each module it changes, two factors and how much they count. */
import { basename } from "node:path";
import * as z from "zod";
import { ModelProblem } from "../problem.js";
import { foreignKind, nameOf, type Part, type TensorName } from "./names.js";
import { type ReadTensor, Safetensors } from "./safetensors.js";

/** The LoRA of one module: `scale * up * down` is added to its weight. */
export interface Factors {
  readonly part: Part;
  readonly module: string;
  /** Whether the levels of the module's name are separated by `_`. */
  readonly flat: boolean;
  /** [rank, inputs], of a convolution with its kernel behind. */
  readonly down: ReadTensor;
  /** [outputs, rank]. */
  readonly up: ReadTensor;
  readonly scale: number;
}

/** How diffusers writes down what a LoRA was trained with. */
const settingsSchema = z.object({
  lora_alpha: z.number().optional(),
  alpha_pattern: z.record(z.string(), z.number()).default({}),
  use_rslora: z.boolean().default(false),
  use_dora: z.boolean().default(false),
});
type Settings = z.output<typeof settingsSchema>;

/** What is in a file. */
export interface Lora {
  /** One for each module. */
  readonly factors: readonly Factors[];
  /** Names of the tensors that are something else. */
  readonly others: readonly string[];
}

/**
 * Reads a file.
 * @throws ModelProblem that names the file, if it is broken or no LoRA
 */
export async function readLora(path: string): Promise<Lora> {
  const name = `loras/${basename(path)}`;
  const file = await Safetensors.open(path, name);
  try {
    const kind = file.names.map(foreignKind).find((found) => found);
    if (kind) throw new ModelProblem(`${name}: ${kind} is not supported, only LoRA`);
    const { found, others } = await gather(file);
    if (found.length === 0) throw new ModelProblem(`${name}: has no weights of a LoRA`);
    return { factors: scaled(found, file.metadata, name), others };
  } finally {
    await file.close();
  }
}

interface Gathered {
  readonly name: TensorName;
  down?: ReadTensor;
  up?: ReadTensor;
  alpha?: number;
}

async function gather(file: Safetensors): Promise<{ found: Gathered[]; others: string[] }> {
  const modules = new Map<string, Gathered>();
  const others: string[] = [];
  for (const key of file.names) {
    const name = nameOf(key);
    if (!name) {
      others.push(key);
      continue;
    }
    const id = `${name.part} ${name.module}`;
    const module = modules.get(id) ?? { name };
    modules.set(id, module);
    const tensor = await file.read(key);
    if (name.role === "alpha") module.alpha = tensor.data[0] ?? 0;
    else module[name.role] = tensor;
  }
  return { found: [...modules.values()], others };
}

function scaled(
  found: readonly Gathered[],
  metadata: Readonly<Record<string, string>>,
  file: string,
): Factors[] {
  const firstRanks = new Map<Part, number>();
  const factors: Factors[] = [];
  for (const { name, down, up, alpha } of found) {
    const { part, module, flat } = name;
    const rank = down?.shape[0];
    const outputs = up?.shape[0] ?? 0;
    if (!down || !up || !rank || up.shape[1] !== rank || up.data.length !== outputs * rank) {
      throw new ModelProblem(`${file}: ${module}: its two factors don't fit each other`);
    }
    // Where a file says nothing of alpha, diffusers takes the rank of the part's first module.
    if (!firstRanks.has(part)) firstRanks.set(part, rank);
    const settings = settingsOf(metadata, part, file);
    const strength = alpha ?? alphaOf(settings, module) ?? (firstRanks.get(part) as number);
    const divisor = settings?.use_rslora ? Math.sqrt(rank) : rank;
    factors.push({ part, module, flat, down, up, scale: strength / divisor });
  }
  return factors;
}

function settingsOf(
  metadata: Readonly<Record<string, string>>,
  part: Part,
  file: string,
): Settings | undefined {
  if (!metadata.lora_adapter_metadata) return undefined;
  try {
    const all = JSON.parse(metadata.lora_adapter_metadata) as Record<string, unknown>;
    const own = Object.entries(all).flatMap(([key, value]) =>
      key.startsWith(`${part}.`) ? [[key.slice(part.length + 1), value]] : [],
    );
    return settingsSchema.parse(Object.fromEntries(own));
  } catch (error) {
    throw new ModelProblem(`${file}: its lora_adapter_metadata can't be read`, { cause: error });
  }
}

function alphaOf(settings: Settings | undefined, module: string): number | undefined {
  if (!settings) return undefined;
  for (const [pattern, alpha] of Object.entries(settings.alpha_pattern)) {
    const name = pattern.replace(/^\^/, "");
    if (module === name || module.endsWith(`.${name}`)) return alpha;
  }
  return settings.lora_alpha;
}
