/** Small graphs of attention, in the forms that exporters write. */
import { writeFile } from "node:fs/promises";
import { intAttribute, integersNode, nodeField } from "../../../src/backends/onnx/file/nodes.js";
import { bytesField, numberField } from "../../../src/backends/onnx/file/protobuf.js";

/** What differs from the form of PyTorch's `scaled_dot_product_attention`, here without a scale. */
export interface Form {
  readonly axis?: number;
  readonly keyOrder?: readonly number[];
  readonly queryShape?: readonly number[];
  /** Scores are divided by it. */
  readonly divisor?: number;
  /** Queries and keys are divided by the fourth root of what stands there in the queries' shape; -1: the last. */
  readonly root?: number;
  /** Something is added to the scores. */
  readonly masked?: boolean;
  /** The softmax is a result, too. */
  readonly scoresToo?: boolean;
  /** Some node has a graph of its own. */
  readonly branch?: boolean;
  /**
   * Heads are folded into the batch, and scores made by `baddbmm`, which adds something times
   * zero: as diffusers had it before PyTorch 2. `rows`, a result, is the shape of the sum.
   */
  readonly folded?: boolean;
}

/** Places, heads, and the size of a head, of the inputs `q`, `k` and `v` of shape (1, 3, 8). */
const [places, heads, size] = [3, 2, 4] as const;

const ints = (name: string, values: readonly number[]) =>
  bytesField(
    5,
    bytesField(1, name),
    ...values.map((one) => numberField(8, one)),
    numberField(20, 7),
  );

const transposed = (from: string, to: string, order: readonly number[]) =>
  nodeField("Transpose", [from], to, ints("perm", order));

/** A node whose last input is a list of numbers. */
const reshaped = (from: string, to: string, dims: readonly number[]) => [
  integersNode(`${to}_shape`, dims),
  nodeField("Reshape", [from, `${to}_shape`], to),
];

function value(field: 11 | 12, name: string, dims: readonly number[]) {
  const shape = bytesField(2, ...dims.map((one) => bytesField(1, numberField(1, one))));
  const tensor = bytesField(2, bytesField(1, numberField(1, 1), shape));
  return bytesField(field, bytesField(1, name), tensor);
}

function scalar(name: string, number: number) {
  const raw = Buffer.alloc(4);
  raw.writeFloatLE(number);
  return bytesField(5, numberField(2, 1), bytesField(8, name), bytesField(9, raw));
}

const split = (of: string, dims: readonly number[], order: readonly number[]) => [
  ...reshaped(of, `${of}_heads`, dims),
  transposed(`${of}_heads`, `${of}_t`, order),
];

/** The fourth root of a part of a value's shape, inverted. */
const rootOf = (of: string, at: number) => [
  nodeField("Shape", [of], "shape"),
  integersNode("start", [at]),
  integersNode("end", [at === -1 ? Number.MAX_SAFE_INTEGER : at + 1]),
  nodeField("Slice", ["shape", "start", "end"], "part"),
  nodeField("Cast", ["part"], "number", intAttribute("to", 1)),
  nodeField("Sqrt", ["number"], "square_root"),
  nodeField("Div", ["one", "square_root"], "inverse"),
  nodeField("Sqrt", ["inverse"], "root"),
];

function usual(form: Form) {
  const { axis = 3, keyOrder = [0, 2, 3, 1], queryShape = [0, 0, heads, size], divisor } = form;
  const last = [divisor === undefined ? "product" : "divided"];
  return [
    ...split("q", queryShape, [0, 2, 1, 3]),
    ...split("k", [0, 0, heads, size], keyOrder),
    ...split("v", [0, 0, heads, size], [0, 2, 1, 3]),
    ...(form.root === undefined ? [] : rootOf("q_t", form.root)),
    ...(form.root === undefined
      ? [nodeField("MatMul", ["q_t", "k_t"], "product")]
      : [
          nodeField("Mul", ["q_t", "root"], "q_rooted"),
          nodeField("Mul", ["k_t", "root"], "k_rooted"),
          nodeField("MatMul", ["q_rooted", "k_rooted"], "product"),
        ]),
    ...(divisor === undefined ? [] : [nodeField("Div", ["product", "divisor"], "divided")]),
    ...(form.masked ? [nodeField("Add", [...last, "mask"], "scores")] : []),
    nodeField("Softmax", form.masked ? ["scores"] : last, "weights", intAttribute("axis", axis)),
    nodeField("MatMul", ["weights", "v_t"], "sum"),
    transposed("sum", "out", [0, 2, 1, 3]),
  ];
}

function folded({ axis = 2 }: Form) {
  const fold = (of: string) => [
    ...split(of, [0, 0, heads, size], [0, 2, 1, 3]),
    ...reshaped(`${of}_t`, `${of}_folded`, [heads, places, size]),
  ];
  return [
    ...["q", "k", "v"].flatMap(fold),
    transposed("k_folded", "k_turned", [0, 2, 1]),
    nodeField("MatMul", ["q_folded", "k_turned"], "product"),
    nodeField("Mul", ["product", "half"], "scaled"),
    nodeField("Mul", ["noise", "zero"], "nothing"),
    nodeField("Add", ["scaled", "nothing"], "scores"),
    nodeField("Softmax", ["scores"], "weights", intAttribute("axis", axis)),
    nodeField("Cast", ["weights"], "cast", intAttribute("to", 1)),
    nodeField("MatMul", ["cast", "v_folded"], "sum"),
    nodeField("Shape", ["sum"], "rows_of_sum"),
    nodeField("Cast", ["rows_of_sum"], "rows", intAttribute("to", 1)),
    ...reshaped("sum", "sum_heads", [1, heads, places, size]),
    transposed("sum_heads", "out", [0, 2, 1, 3]),
  ];
}

/** Writes a model of one attention, of the inputs `q`, `k` and `v`, and the output `out`. */
export function writeAttention(path: string, form: Form): Promise<void> {
  const branch = bytesField(5, bytesField(1, "then_branch"), bytesField(6, ""));
  const graph = bytesField(
    7,
    ...(form.folded ? folded(form) : usual(form)),
    ...(form.branch ? [nodeField("If", ["q"], "more", branch)] : []),
    bytesField(2, "attention"),
    scalar("one", 1),
    scalar("half", 0.5),
    scalar("zero", 0),
    scalar("noise", 7),
    ...(form.divisor === undefined ? [] : [scalar("divisor", form.divisor)]),
    ...["q", "k", "v"].map((input) => value(11, input, [1, places, heads * size])),
    ...(form.masked ? [value(11, "mask", [places, places])] : []),
    value(12, "out", [1, places, heads, size]),
    ...(form.scoresToo ? [value(12, "weights", [1, heads, places, places])] : []),
    ...(form.folded ? [value(12, "rows", [3])] : []),
  );
  const model = [numberField(1, 8), graph, bytesField(8, numberField(2, 17))];
  return writeFile(path, Buffer.concat(model));
}
