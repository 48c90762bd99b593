/** What stands in an ONNX file: its nodes, and where its weights lie. */
import { closeSync, openSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { assertRegular } from "../../../regular-file.js";
import { ModelProblem, whyUnreadable } from "../problem.js";
import { CutShort, type Field, NotProtobuf, ProtobufFile, type Span } from "./protobuf.js";

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

/** What stands in a file. */
export interface OnnxFile {
  readonly path: string;
  /** Name for errors. */
  readonly name: string;
  /** The graph's field, with its tag. */
  readonly graph: Field;
  readonly size: number;
  readonly nodes: readonly Node[];
  /** Names of what it gives. */
  readonly outputs: readonly string[];
  /** Names of the sets of operators that it uses besides ONNX's own. */
  readonly domains: readonly string[];
  readonly initializers: readonly Initializer[];
  /** Bytes of the weights. */
  readonly bytes: number;
  /** Bytes that they take where half precision is computed in single. */
  readonly singleBytes: number;
}

/** Bytes of one element by ONNX's number of the type. */
const elementSizes: Readonly<Record<number, number>> = {
  1: 4,
  2: 1,
  3: 1,
  4: 2,
  5: 2,
  6: 4,
  7: 8,
  9: 1,
  10: 2,
  11: 8,
  12: 4,
  13: 8,
  16: 2,
};

/**
 * Reads what stands in an ONNX file, and looks whether all of it is there, and
 * of the files that it refers to. Reads only the structure: milliseconds.
 * @param folder the model's
 * @param name of the file inside of it, for errors too
 * @throws ModelProblem that names the file at fault
 */
export function readOnnx(folder: string, name: string): OnnxFile {
  const path = join(folder, name);
  let fd: number;
  try {
    assertRegular(path);
    fd = openSync(path, "r");
  } catch (error) {
    throw new ModelProblem(`${name}: ${whyUnreadable(error)}`, { cause: error });
  }
  try {
    const { size } = statSync(path);
    if (size === 0) throw new ModelProblem(`${name}: is empty`);
    const file = new ProtobufFile(fd, size);
    return checked({ path, name, size, ...contentOf(file) });
  } catch (error) {
    if (error instanceof CutShort) {
      const { size } = statSync(path);
      const cut = `is cut short: it has ${size} of at least ${error.wanted} bytes`;
      throw new ModelProblem(`${name}: ${cut}`, { cause: error });
    }
    if (error instanceof NotProtobuf || (error as NodeJS.ErrnoException).code === "EISDIR") {
      throw new ModelProblem(`${name}: is not an ONNX file`, { cause: error });
    }
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Which node makes a value, by the values' names. */
export const makersIn = ({ nodes }: OnnxFile): ReadonlyMap<string, Node> =>
  new Map(nodes.flatMap((node) => node.outputs.map((name) => [name, node])));

/** Does something with the open file. */
export function withOnnx<T>({ path, size }: OnnxFile, use: (file: ProtobufFile) => T): T {
  const fd = openSync(path, "r");
  try {
    return use(new ProtobufFile(fd, size));
  } finally {
    closeSync(fd);
  }
}

type Content = Pick<OnnxFile, "graph" | "nodes" | "outputs" | "domains" | "initializers">;

function contentOf(file: ProtobufFile): Content {
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

const constantsOf = ({ nodes }: Pick<OnnxFile, "nodes">) =>
  nodes.flatMap(({ attributes }) => [...attributes.values()].flatMap(({ tensor }) => tensor ?? []));

/** Whether weights may lie there: not outside of the folder, as ONNX has it, nor before a file's begin. */
const canLie = (file: string, { start, end }: Span): boolean =>
  !file.split(/[\\/]/).includes("..") &&
  Number.isSafeInteger(start) &&
  Number.isSafeInteger(end) &&
  0 <= start &&
  start <= end;

const placeOf = ({ file, at }: NonNullable<Initializer["data"]>): string =>
  `${JSON.stringify(file?.slice(0, 100))}, bytes ${at.start} to ${at.end}`;

/** Looks at the files that hold the weights, and sums up. */
function checked(content: Omit<OnnxFile, "bytes" | "singleBytes">): OnnxFile {
  const ends = new Map<string, number>();
  let bytes = 0;
  let halves = 0;
  for (const { type, dims } of content.initializers) {
    const taken = dims.reduce((product, size) => product * size, elementSizes[type] ?? 1);
    bytes += taken;
    if (type === 10 || type === 16) halves += taken;
  }
  for (const { data } of [...content.initializers, ...constantsOf(content)]) {
    if (!data?.file) continue;
    if (!canLie(data.file, data.at)) {
      throw new ModelProblem(`${content.name}: has weights where none can be: ${placeOf(data)}`);
    }
    ends.set(data.file, Math.max(ends.get(data.file) ?? 0, data.at.end));
  }
  for (const [file, end] of ends) {
    const name = join(dirname(content.name), file);
    const size = statSync(join(dirname(content.path), file), { throwIfNoEntry: false })?.size;
    if (size === undefined) {
      throw new ModelProblem(`${name}: is missing, and ${content.name} has its weights there`);
    }
    if (size < end) {
      throw new ModelProblem(`${name}: is cut short: it has ${size} of at least ${end} bytes`);
    }
  }
  return { ...content, bytes, singleBytes: bytes + halves };
}
