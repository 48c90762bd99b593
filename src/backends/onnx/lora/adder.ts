/**
 * Adds products of factors to weights. ONNX Runtime does the arithmetic, on all
 * threads: a graph of our own, `weight + up * down`, of three inputs.
 */
import type { InferenceSession, Tensor } from "onnxruntime-node";
import { intAttribute, nodeField } from "../file/nodes.js";
import { bytesField, numberField } from "../file/protobuf.js";
import type { Runtime } from "../runtime.js";

/** A matrix, row by row. */
export interface Matrix {
  readonly data: Float32Array;
  readonly rows: number;
  readonly columns: number;
}

/** Types of weights that can be added to, by ONNX's number. */
const addableTypes = { 1: "float32", 10: "float16" } as const;

/** ONNX's number of such a type. */
export type AddableType = keyof typeof addableTypes;

/** Whether weights of a type can be added to. */
export const isAddable = (type: number): type is AddableType => Object.hasOwn(addableTypes, type);

const float = 1;
const half = 10;

/** What adds to weights of one type. */
export class Adder {
  readonly #session: InferenceSession;
  readonly #runtime: Runtime;
  readonly #type: AddableType;

  private constructor(session: InferenceSession, runtime: Runtime, type: AddableType) {
    this.#session = session;
    this.#runtime = runtime;
    this.#type = type;
  }

  static async open(runtime: Runtime, type: AddableType): Promise<Adder> {
    return new Adder(await runtime.InferenceSession.create(productModel(type)), runtime, type);
  }

  /**
   * @param weight plain bytes of a matrix
   * @returns the bytes of the sum
   */
  async add(weight: Uint8Array, up: Matrix, down: Matrix): Promise<Uint8Array> {
    const { Tensor } = this.#runtime;
    const dims = [up.rows, down.columns];
    // A copy of its own: the bytes may not begin where numbers may.
    const { buffer } = weight.slice();
    const numbers = this.#type === half ? new Uint16Array(buffer) : new Float32Array(buffer);
    const result = await this.#session.run({
      weight: new Tensor(addableTypes[this.#type], numbers as Float32Array, dims),
      up: new Tensor("float32", up.data, [up.rows, up.columns]),
      down: new Tensor("float32", down.data, [down.rows, down.columns]),
    });
    const { data } = result.sum as Tensor;
    const view = data as Float32Array;
    return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  }

  release(): Promise<void> {
    return this.#session.release();
  }
}

/** The matrix with rows and columns exchanged. */
export function turned({ data, rows, columns }: Matrix): Matrix {
  const out = new Float32Array(data.length);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      out[column * rows + row] = data[row * columns + column] as number;
    }
  }
  return { data: out, rows: columns, columns: rows };
}

/** A cast to a type of ONNX's number. */
const cast = (from: string, output: string, to: number) =>
  nodeField("Cast", [from], output, intAttribute("to", to));

/** An input or output: a matrix of any size. */
function matrix(field: 11 | 12, name: string, type: number): Buffer {
  const dim = (param: string) => bytesField(1, bytesField(2, param));
  const shape = bytesField(2, dim(`${name}_rows`), dim(`${name}_columns`));
  const tensor = bytesField(1, numberField(1, type), shape);
  return bytesField(field, bytesField(1, name), bytesField(2, tensor));
}

/** The graph, as an ONNX file. */
export function productModel(type: AddableType): Uint8Array {
  const inside =
    type === half
      ? [
          cast("weight", "single", float),
          nodeField("Add", ["single", "product"], "single_sum"),
          cast("single_sum", "sum", half),
        ]
      : [nodeField("Add", ["weight", "product"], "sum")];
  const graph = bytesField(
    7,
    nodeField("MatMul", ["up", "down"], "product"),
    ...inside,
    bytesField(2, "add"),
    matrix(11, "weight", type),
    matrix(11, "up", float),
    matrix(11, "down", float),
    matrix(12, "sum", type),
  );
  return Buffer.concat([numberField(1, 8), graph, bytesField(8, numberField(2, 17))]);
}
