/** Which weight of an ONNX file belongs to which module of the model that was exported. */
import type { Initializer, Node } from "../file/model-proto.js";
import { makersIn, type OnnxFile } from "../file/onnx.js";

/** The weight of a linear layer or a convolution. */
export interface Module {
  readonly weight: Initializer;
  /** Whether its rows are inputs and its columns outputs, rather than the other way. */
  readonly transposed: boolean;
  /** Whether another module has the same weight. */
  readonly shared: boolean;
}

/**
 * The modules by their names in PyTorch. Exporters keep those of convolutions
 * and of some linear layers as the weights' names. The other linear layers are
 * known by the name of their node (`/mid_block/…/to_q/MatMul`) or, from
 * exporters without such names, by the bias that is added to what they give.
 */
export function modulesOf(file: OnnxFile): ReadonlyMap<string, Module> {
  const weights = new Map(file.initializers.map((weight) => [weight.name, weight]));
  const makers = makersIn(file);
  const adds = new Map(
    file.nodes
      .filter(({ op }) => op === "Add")
      .flatMap((node) => node.inputs.map((name) => [name, node])),
  );
  const users = new Map<string, number>();
  const found = new Map<string, Omit<Module, "shared">>();
  for (const node of file.nodes) {
    if (node.op !== "MatMul" && node.op !== "Gemm" && node.op !== "Conv") continue;
    const source = sourceOf(node.inputs[1] ?? "", weights, makers);
    if (!source) continue;
    users.set(source.weight.name, (users.get(source.weight.name) ?? 0) + 1);
    const name = nameByWeight(source.names) ?? nameByNode(node) ?? nameByBias(node, adds);
    const columns =
      node.op === "MatMul" || (node.op === "Gemm" && node.attributes.get("transB")?.value !== 1);
    if (name) found.set(name, { weight: source.weight, transposed: columns !== source.turned });
  }
  return new Map(
    [...found].map(([name, module]) => [
      name,
      { ...module, shared: (users.get(module.weight.name) ?? 0) > 1 },
    ]),
  );
}

/** The weight behind a value, through casts and transpositions. */
function sourceOf(
  value: string,
  weights: ReadonlyMap<string, Initializer>,
  makers: ReadonlyMap<string, Node>,
) {
  const names: string[] = [];
  let turned = false;
  let name = value;
  for (;;) {
    names.push(name);
    const weight = weights.get(name);
    if (weight) return { weight, turned, names };
    const maker = makers.get(name);
    if (!maker || !["Cast", "Identity", "Transpose"].includes(maker.op)) return undefined;
    if (maker.op === "Transpose") turned = !turned;
    name = maker.inputs[0] ?? "";
  }
}

function nameByWeight(names: readonly string[]): string | undefined {
  const found = names.find((name) => name.endsWith(".weight"));
  return found?.slice(0, -".weight".length);
}

function nameByNode({ name }: Node): string | undefined {
  if (!name.startsWith("/")) return undefined;
  return name.split("/").slice(1, -1).join(".") || undefined;
}

function nameByBias({ outputs }: Node, adds: ReadonlyMap<string, Node>): string | undefined {
  const bias = adds.get(outputs[0] ?? "")?.inputs.find((name) => name.endsWith(".bias"));
  return bias?.slice(0, -".bias".length);
}
