/**
 * Attention as one node. Exporters write it as eight: the scores of every pair of places are
 * then in memory at once, 1 GB for a picture of 512 x 512 and sixteen times that for one of
 * twice the size, where ONNX Runtime's own operator takes them in pieces, and less time.
 */

import { floatAttribute, intAttribute, integersNode, nodeField, ofDomain } from "./file/nodes.js";
import type { Initializer, Node, OnnxFile } from "./file/onnx.js";
import { numbersOf, ownOperators } from "./file/rewrite.js";
import { fromHalf } from "./float16.js";

/** Orders of the axes: heads before places, and back; turned for the product; the last two exchanged. */
const headsFirst = [0, 2, 1, 3];
const turned = [0, 2, 3, 1];
const exchanged = [0, 1, 3, 2];

/** What of a graph is attention: values are names, of the shape (batch, places, heads, size). */
interface Attention {
  readonly query: string;
  readonly key: string;
  readonly value: string;
  readonly heads: number;
  /** Of the scores; absent: one through the root of a head's size. */
  readonly scale: number | undefined;
  /** Gives the result in the same shape. */
  readonly last: Node;
}

/**
 * The attention of a graph, as ONNX Runtime has it.
 * @returns fields by the nodes in whose place they come; nothing where there is none, or none of a known form
 */
export function fuseAttention(file: OnnxFile): ReadonlyMap<Node, Uint8Array> {
  const edits = new Map<Node, Uint8Array>();
  const isGraph = ({ attributes }: Node) => [...attributes.values()].some((one) => one.isGraph);
  // What a graph inside of a node uses of this one can't be told from outside.
  if (file.nodes.some(isGraph)) return edits;
  const reader = new AttentionReader(file);
  const found = file.nodes.flatMap((node) => reader.around(node) ?? []);
  for (const attention of found) edits.set(attention.last, fieldsOf(attention));
  const kept = found.flatMap(({ query, key, value }) => [query, key, value]);
  for (const node of unused(file, [...edits.keys()], kept)) edits.set(node, Buffer.alloc(0));
  return edits;
}

/** Of attention, with shapes of three axes as the operator wants them. */
function fieldsOf({ query, key, value, heads, scale, last }: Attention): Uint8Array {
  const result = last.outputs[0] as string;
  const own = (name: string) => `${result}/lintel/${name}`;
  const flat = (name: string, of: string) => nodeField("Reshape", [of, own("flat")], own(name));
  return Buffer.concat([
    integersNode(own("flat"), [0, 0, -1]),
    flat("query", query),
    flat("key", key),
    flat("value", value),
    nodeField(
      "MultiHeadAttention",
      [own("query"), own("key"), own("value")],
      own("result"),
      ofDomain(ownOperators),
      intAttribute("num_heads", heads),
      ...(scale === undefined ? [] : [floatAttribute("scale", scale)]),
    ),
    integersNode(own("heads"), [0, 0, heads, -1]),
    nodeField("Reshape", [own("result"), own("heads")], result),
  ]);
}

/** Nodes whose results nobody uses once some are gone. */
function unused(file: OnnxFile, gone: readonly Node[], kept: readonly string[]): Node[] {
  const makers = makersIn(file);
  const uses = new Map<string, number>();
  const use = (name: string, more: number) => uses.set(name, (uses.get(name) ?? 0) + more);
  for (const name of [...file.nodes.flatMap(({ inputs }) => inputs), ...file.outputs, ...kept]) {
    use(name, 1);
  }
  const found: Node[] = [];
  const leave = ({ inputs }: Node) => {
    for (const name of inputs) {
      use(name, -1);
      const maker = makers.get(name);
      if (!maker || maker.outputs.some((output) => (uses.get(output) ?? 0) > 0)) continue;
      found.push(maker);
      leave(maker);
    }
  };
  for (const node of gone) leave(node);
  return found;
}

const makersIn = ({ nodes }: OnnxFile): ReadonlyMap<string, Node> =>
  new Map(nodes.flatMap((node) => node.outputs.map((name) => [name, node])));

/** Reads a graph backwards from what is known of it. */
class AttentionReader {
  readonly #file: OnnxFile;
  readonly #makers: ReadonlyMap<string, Node>;
  readonly #users = new Map<string, Node[]>();
  readonly #weights: ReadonlyMap<string, Initializer>;

  constructor(file: OnnxFile) {
    this.#file = file;
    this.#makers = makersIn(file);
    this.#weights = new Map(file.initializers.map((weight) => [weight.name, weight]));
    for (const node of file.nodes) {
      for (const name of node.inputs) {
        const users = this.#users.get(name);
        if (users) users.push(node);
        else this.#users.set(name, [node]);
      }
    }
  }

  /** What is around a node, if that is a softmax of attention whose form is known. */
  around(softmax: Node): Attention | undefined {
    if (softmax.op !== "Softmax") return undefined;
    const axis = softmax.attributes.get("axis")?.value ?? -1;
    const [weights = ""] = softmax.outputs;
    const scores = this.#unscaled(softmax.inputs[0] ?? "");
    const product = this.#maker(scores.of, "MatMul");
    const sum = this.#user(weights, "MatMul");
    const last = this.#user(sum?.outputs[0] ?? "", "Transpose");
    if (!product || !sum || !last || !isOrder(last, headsFirst)) return undefined;
    if ((axis !== -1 && axis !== 3) || sum.inputs[0] !== weights) return undefined;
    const left = this.#unscaled(product.inputs[0] ?? "");
    const right = this.#unscaled(product.inputs[1] ?? "");
    const query = this.#before(left.of, headsFirst);
    const key =
      this.#before(right.of, turned) ??
      this.#before(this.#before(right.of, exchanged) ?? "", headsFirst);
    const value = this.#before(sum.inputs[1] ?? "", headsFirst);
    if (query === undefined || key === undefined || value === undefined) return undefined;
    const heads = this.#heads(query);
    if (!heads || this.#heads(key) !== heads || this.#heads(value) !== heads) return undefined;
    const factors = [scores.factor, left.factor, right.factor];
    const numbers = factors.filter((factor) => factor !== "root");
    const scale = numbers.reduce((all, factor) => all * factor, 1);
    if (numbers.length === factors.length) return { query, key, value, heads, scale, last };
    // Half of the exponent is with the query, half with the key.
    const isUsual = left.factor === "root" && right.factor === "root" && scale === 1;
    return isUsual ? { query, key, value, heads, scale: undefined, last } : undefined;
  }

  #maker(name: string, op: string): Node | undefined {
    const maker = this.#makers.get(name);
    return maker?.op === op ? maker : undefined;
  }

  /** The only one that uses a value. */
  #user(name: string, op: string): Node | undefined {
    const [user, ...others] = this.#users.get(name) ?? [];
    return user?.op === op && others.length === 0 ? user : undefined;
  }

  /** What a value was before its axes were put into another order. */
  #before(name: string, order: readonly number[]): string | undefined {
    const maker = this.#maker(name, "Transpose");
    return maker && isOrder(maker, order) ? maker.inputs[0] : undefined;
  }

  /** What a value was before it was multiplied, and by what; `root` is the fourth root of a head's size, inverted. */
  #unscaled(name: string): { readonly of: string; readonly factor: number | "root" } {
    const maker = this.#makers.get(name);
    const [first = "", second = ""] = maker?.inputs ?? [];
    if (maker?.op === "Div") {
      const divisor = this.#number(second);
      if (divisor) return { of: first, factor: 1 / divisor };
    }
    if (maker?.op === "Mul") {
      for (const [of, by] of [
        [first, second],
        [second, first],
      ] as const) {
        const factor = this.#number(by) ?? (this.#isRoot(by) ? "root" : undefined);
        if (factor !== undefined) return { of, factor };
      }
    }
    return { of: name, factor: 1 };
  }

  /** Whether a value is computed as PyTorch's exporter has it: sqrt(1 / sqrt(last of the shape)). */
  #isRoot(name: string): boolean {
    const outer = this.#maker(this.#uncast(name), "Sqrt");
    const inverse = this.#maker(this.#uncast(outer?.inputs[0] ?? ""), "Div");
    const inner = this.#maker(this.#uncast(inverse?.inputs[1] ?? ""), "Sqrt");
    const size = this.#maker(this.#uncast(inner?.inputs[0] ?? ""), "Slice");
    const isLast = this.#integers(size?.inputs[1] ?? "")?.[0] === -1;
    const isShape = this.#maker(size?.inputs[0] ?? "", "Shape") !== undefined;
    return isLast && isShape && this.#number(inverse?.inputs[0] ?? "") === 1;
  }

  /** The value behind casts. */
  #uncast(name: string): string {
    const maker = this.#maker(name, "Cast");
    return maker ? this.#uncast(maker.inputs[0] ?? "") : name;
  }

  /** How many heads a value has that was given four axes: the third of its shape. */
  #heads(name: string): number | undefined {
    const shape = this.#maker(name, "Reshape")?.inputs[1] ?? "";
    const known = this.#integers(shape);
    if (known) return known.length === 4 ? positive(known[2]) : undefined;
    const parts = this.#maker(shape, "Concat")?.inputs ?? [];
    if (parts.length !== 4) return undefined;
    const part = this.#integers(parts[2] ?? "");
    return part?.length === 1 ? positive(part[0]) : undefined;
  }

  /** The bytes of a value that does not change, if they are few. */
  #constant(name: string) {
    const tensor =
      this.#weights.get(name) ?? this.#maker(name, "Constant")?.attributes.get("value")?.tensor;
    const { start, end } = tensor?.data?.at ?? { start: 0, end: 0 };
    if (!tensor || end === start || end - start > 64) return undefined;
    return { type: tensor.type, bytes: numbersOf(this.#file, tensor) };
  }

  #number(name: string): number | undefined {
    const { type, bytes } = this.#constant(name) ?? {};
    if (type === 1 && bytes?.length === 4) return bytes.readFloatLE();
    if (type === 10 && bytes?.length === 2)
      return fromHalf(Uint16Array.of(bytes.readUInt16LE()))[0];
    return undefined;
  }

  #integers(name: string): number[] | undefined {
    const { type, bytes } = this.#constant(name) ?? {};
    if (type !== 7 || !bytes) return undefined;
    return Array.from({ length: bytes.length / 8 }, (_, i) => Number(bytes.readBigInt64LE(i * 8)));
  }
}

const positive = (count: number | undefined) => (count && count > 0 ? count : undefined);

const isOrder = ({ attributes }: Node, order: readonly number[]): boolean =>
  String(attributes.get("perm")?.values) === String(order);
