/** The messages that an ONNX file is made of, as `onnx.proto` has them: ModelProto, and what is within. */
import { type Field, NotProtobuf, type ProtobufFile, type Span } from "./protobuf.js";

/** A weight, as the file has it. */
export interface Initializer {
  readonly name: string;
  /** ONNX's number of the element type. */
  readonly type: number;
  readonly dims: readonly number[];
  /** The whole field in the file. */
  readonly field: Span;
  /** Where the numbers lie; absent where they are not stored as plain bytes. */
  readonly data: { readonly file: string | undefined; readonly at: Span } | undefined;
}

/** What a node is told besides its inputs. */
export interface Attribute {
  /** A whole number; 0 where it is none. */
  readonly value: number;
  /** Several. */
  readonly values: readonly number[];
  /** A constant. */
  readonly tensor: Omit<Initializer, "field"> | undefined;
  /** Whether it is a graph, which may use whatever is around it. */
  readonly isGraph: boolean;
}

/** A node of the graph, as far as it matters here. */
export interface Node {
  readonly name: string;
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, Attribute>;
  /** The whole field in the file. */
  readonly field: Span;
}

/** A model, as far as it matters here. */
export interface ModelProto {
  /** The graph's field, with its tag. */
  readonly graph: Field;
  readonly nodes: readonly Node[];
  /** Names of what it gives. */
  readonly outputs: readonly string[];
  /** Names of the sets of operators that it uses besides ONNX's own. */
  readonly domains: readonly string[];
  readonly initializers: readonly Initializer[];
}

/**
 * Reads the model that a file is.
 * @throws CutShort or NotProtobuf
 */
export function modelIn(file: ProtobufFile): ModelProto {
  const nodes: Node[] = [];
  const outputs: string[] = [];
  const domains: string[] = [];
  const initializers: Initializer[] = [];
  let graph: Field | undefined;
  for (const field of file.fields(file.span)) {
    if (field.number === 8) domains.push(nameIn(file, field));
    if (field.number !== 7 || !field.isBytes) continue;
    graph = field;
    for (const part of file.fields(field)) {
      if (part.number === 1) nodes.push(nodeOf(file, part));
      if (part.number === 5) initializers.push(initializerOf(file, part));
      if (part.number === 12) outputs.push(nameIn(file, part));
    }
  }
  if (!graph) throw new NotProtobuf();
  return { graph, nodes, outputs, domains: domains.filter(Boolean), initializers };
}

/** The name of something that begins with it. */
function nameIn(file: ProtobufFile, span: Span): string {
  for (const field of file.fields(span)) if (field.number === 1) return file.text(field);
  return "";
}

function nodeOf(file: ProtobufFile, span: Field): Node {
  const node = { name: "", op: "", inputs: [] as string[], outputs: [] as string[] };
  const attributes = new Map<string, Attribute>();
  for (const field of file.fields(span)) {
    if (field.number === 1) node.inputs.push(file.text(field));
    if (field.number === 2) node.outputs.push(file.text(field));
    if (field.number === 3) node.name = file.text(field);
    if (field.number === 4) node.op = file.text(field);
    if (field.number === 5) attributes.set(nameIn(file, field), attributeOf(file, field));
  }
  return { ...node, attributes, field: { start: span.tag, end: span.end } };
}

function attributeOf(file: ProtobufFile, span: Span): Attribute {
  let value = 0;
  const values: number[] = [];
  let tensor: Attribute["tensor"];
  let isGraph = false;
  for (const field of file.fields(span)) {
    if (field.number === 3) value = field.value;
    if (field.number === 5) tensor = tensorOf(file, field);
    if (field.number === 6 || field.number === 11) isGraph = true;
    if (field.number === 8) for (const number of file.numbers(field)) values.push(number);
  }
  return { value, values, tensor, isGraph };
}

function initializerOf(file: ProtobufFile, span: Field): Initializer {
  return { ...tensorOf(file, span), field: { start: span.tag, end: span.end } };
}

/** A tensor, as a weight or as a constant in a node. */
export function tensorOf(file: ProtobufFile, span: Span): Omit<Initializer, "field"> {
  let name = "";
  let type = 0;
  const dims: number[] = [];
  let raw: Span | undefined;
  const external = new Map<string, string>();
  for (const field of file.fields(span)) {
    if (field.number === 1) for (const number of file.numbers(field)) dims.push(number);
    if (field.number === 2) type = field.value;
    if (field.number === 8) name = file.text(field);
    if (field.number === 9) raw = { start: field.start, end: field.end };
    if (field.number === 13) external.set(...entryOf(file, field));
  }
  const location = external.get("location");
  const start = Number(external.get("offset") ?? 0);
  const length = Number(external.get("length") ?? 0);
  const beside = location && { file: location, at: { start, end: start + length } };
  return { name, type, dims, data: beside || (raw && { file: undefined, at: raw }) };
}

function entryOf(file: ProtobufFile, span: Span): [key: string, value: string] {
  const entry: [string, string] = ["", ""];
  for (const field of file.fields(span)) {
    if (field.number === 1 || field.number === 2) entry[field.number - 1] = file.text(field);
  }
  return entry;
}
