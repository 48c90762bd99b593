/** Finds attention in a graph, in the forms that PyTorch's exporter has written it in. */
import type { Initializer, Node } from "../file/model-proto.js";
import { makersIn, type OnnxFile } from "../file/onnx.js";
import { numbersOf } from "../file/rewrite.js";
import { fromHalf } from "../float16.js";

/** Orders of the axes: heads before places, and back; turned for the product; the last two exchanged. */
const headsFirst = [0, 2, 1, 3];
const turned = [0, 2, 3, 1];
const exchanged = [0, 1, 3, 2];
/** The last two exchanged, where heads are folded into the batch. */
const exchangedFolded = [0, 2, 1];

/** What of a graph is attention: values are names, of the shape (batch, places, heads, size). */
export interface Attention {
  readonly query: string;
  readonly key: string;
  readonly value: string;
  readonly heads: number;
  /** Of the scores. */
  readonly scale: number;
  /** What the query and the key are multiplied by before, each; absent: by nothing. */
  readonly roots: readonly [query: Root, key: Root] | undefined;
  /** Gives the result in the same shape. */
  readonly last: Node;
  /** Nodes that ask for the shape of the result before it, and the name of a value that has the same. */
  readonly shapes: readonly Node[];
  readonly alike: string;
}

/** The fourth root of a head's size, inverted: half of the usual scale's exponent. */
export interface Root {
  /** The value's name. */
  readonly value: string;
  /** What asks for the size, as the last of a shape. */
  readonly shape: Node;
}

/** Reads a graph backwards from what is known of it. */
export class AttentionReader {
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
    const scores = this.#unscaled(this.#withoutNothing(softmax.inputs[0] ?? ""));
    const product = this.#maker(scores.of, "MatMul");
    const left = this.#unscaled(product?.inputs[0] ?? "");
    const right = this.#unscaled(product?.inputs[1] ?? "");
    const scaling = scalingOf(scores.factor, left.factor, right.factor);
    const result = this.#resultOf(softmax);
    if (!scaling || !result) return undefined;
    const places = result.isFolded
      ? [left.of, this.#before(right.of, exchangedFolded) ?? "", result.value].map((name) =>
          this.#before(this.#maker(name, "Reshape")?.inputs[0] ?? "", headsFirst),
        )
      : [
          this.#before(left.of, headsFirst),
          this.#before(right.of, turned) ??
            this.#before(this.#before(right.of, exchanged) ?? "", headsFirst),
          this.#before(result.value, headsFirst),
        ];
    const [query, key, value] = places;
    if (query === undefined || key === undefined || value === undefined) return undefined;
    const heads = this.#heads(query);
    if (!heads || this.#heads(key) !== heads || this.#heads(value) !== heads) return undefined;
    const { last, shapes } = result;
    return { query, key, value, heads, ...scaling, last, shapes, alike: left.of };
  }

  /** What is done with the values, and what comes of it. */
  #resultOf(softmax: Node) {
    const axis = softmax.attributes.get("axis")?.value ?? -1;
    const cast = this.#user(softmax.outputs[0] ?? "", "Cast");
    const weights = (cast ?? softmax).outputs[0] ?? "";
    const sum = this.#user(weights, "MatMul");
    if (!sum || sum.inputs[0] !== weights) return undefined;
    const value = sum.inputs[1] ?? "";
    const users = this.#users.get(sum.outputs[0] ?? "") ?? [];
    const shapes = users.filter(({ op, attributes }) => op === "Shape" && attributes.size === 0);
    const [user, ...others] = users.filter((one) => !shapes.includes(one));
    if (others.length > 0) return undefined;
    const isFolded = user?.op === "Reshape" && user.inputs[0] === sum.outputs[0];
    const last = isFolded ? this.#user(user.outputs[0] ?? "", "Transpose") : user;
    if (last?.op !== "Transpose" || !isOrder(last, headsFirst)) return undefined;
    // The last axis, of three or four.
    if (axis !== -1 && axis !== (isFolded ? 2 : 3)) return undefined;
    return shapes.length > 0 && !isFolded ? undefined : { value, last, shapes, isFolded };
  }

  /** What a value was before something times zero was added, as PyTorch's `baddbmm` is exported. */
  #withoutNothing(name: string): string {
    const [first = "", second = ""] = this.#maker(name, "Add")?.inputs ?? [];
    if (this.#unscaled(second).factor === 0) return first;
    return this.#unscaled(first).factor === 0 ? second : name;
  }

  /** Whether of a shape nothing but the last is used, by one node. */
  isOnlyLast(shape: Node): boolean {
    return this.#user(shape.outputs[0] ?? "", "Slice") !== undefined;
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

  /** What a value was before it was multiplied, and by what. */
  #unscaled(name: string): { readonly of: string; readonly factor: number | Root } {
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
        const factor = this.#number(by) ?? this.#root(by);
        if (factor !== undefined) return { of, factor };
      }
    }
    return { of: name, factor: 1 };
  }

  /** A value that is computed as PyTorch's exporter has it: sqrt(1 / sqrt(last of the shape)). */
  #root(value: string): Root | undefined {
    const outer = this.#maker(this.#uncast(value), "Sqrt");
    const inverse = this.#maker(this.#uncast(outer?.inputs[0] ?? ""), "Div");
    const inner = this.#maker(this.#uncast(inverse?.inputs[1] ?? ""), "Sqrt");
    const size = this.#maker(this.#uncast(inner?.inputs[0] ?? ""), "Slice");
    const isLast = this.#integers(size?.inputs[1] ?? "")?.[0] === -1;
    const shape = this.#maker(size?.inputs[0] ?? "", "Shape");
    const isInverse = this.#number(inverse?.inputs[0] ?? "") === 1;
    return shape && isLast && isInverse ? { value, shape } : undefined;
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

/** How scores are scaled; nothing where that is of no known form. */
function scalingOf(
  scores: number | Root,
  query: number | Root,
  key: number | Root,
): Pick<Attention, "scale" | "roots"> | undefined {
  // The operator takes zero for a scale of its own.
  if (typeof scores !== "number" || scores === 0) return undefined;
  if (typeof query === "object" && typeof key === "object") {
    return { scale: scores, roots: [query, key] };
  }
  if (typeof query === "object" || typeof key === "object") return undefined;
  const scale = scores * query * key;
  return scale === 0 ? undefined : { scale, roots: undefined };
}

const positive = (count: number | undefined) => (count && count > 0 ? count : undefined);

const isOrder = ({ attributes }: Node, order: readonly number[]): boolean =>
  String(attributes.get("perm")?.values) === String(order);
