/** Nodes of a graph, made anew: the fields of protobuf that they are in a file. */
import { bytesField, floatField, numberField } from "./protobuf.js";

/** What tells one kind of attribute from another in a file. */
const kinds = { float: 1, int: 2, tensor: 4 } as const;

const attribute = (name: string, kind: keyof typeof kinds, value: Uint8Array) =>
  bytesField(5, bytesField(1, name), value, numberField(20, kinds[kind]));

/** An attribute of a node: a whole number. */
export const intAttribute = (name: string, value: number): Buffer =>
  attribute(name, "int", numberField(3, value));

/** An attribute of a node: a number in single precision. */
export const floatAttribute = (name: string, value: number): Buffer =>
  attribute(name, "float", floatField(2, value));

/** A node of one output. */
export const nodeField = (
  op: string,
  inputs: readonly string[],
  output: string,
  ...more: readonly Uint8Array[]
): Buffer =>
  bytesField(
    1,
    ...inputs.map((name) => bytesField(1, name)),
    bytesField(2, output),
    bytesField(4, op),
    ...more,
  );

/** Says that a node is not of ONNX's own operators. */
export const ofDomain = (domain: string): Buffer => bytesField(7, domain);

/** A node that gives whole numbers, as shapes are. */
export function integersNode(output: string, values: readonly number[]): Buffer {
  const raw = Buffer.from(BigInt64Array.from(values, BigInt).buffer);
  const tensor = [numberField(1, values.length), numberField(2, 7), bytesField(9, raw)];
  return nodeField("Constant", [], output, attribute("value", "tensor", bytesField(5, ...tensor)));
}
