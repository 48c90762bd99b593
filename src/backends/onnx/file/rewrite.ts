/** An ONNX file with other numbers in some of its weights, or other nodes, made in memory. */
import { closeSync, openSync, realpathSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { type Initializer, type Node, tensorOf } from "./model-proto.js";
import { type OnnxFile, withOnnx } from "./onnx.js";
import {
  bytesField,
  bytesHeader,
  type Field,
  numberField,
  ProtobufFile,
  type Span,
} from "./protobuf.js";

/** Bytes that stand for a file which a model refers to. */
export interface ExternalFile {
  readonly path: string;
  readonly data: Uint8Array;
}

/** A model in memory, with the files that it refers to if those are in memory too. */
export interface Rewritten {
  readonly model: Uint8Array;
  readonly files?: readonly ExternalFile[];
  /** The folder of the others. */
  readonly folder: string;
}

/** A protobuf message can't have more bytes than this. */
const largest = 2 ** 31 - 2 ** 20;

/** The plain bytes of a weight's numbers. */
export function numbersOf(file: OnnxFile, { data }: Pick<Initializer, "data">): Buffer {
  if (!data) throw new Error("the weight is not stored as plain bytes");
  if (data.file === undefined) return withOnnx(file, (open) => open.bytes(data.at));
  const fd = openSync(join(dirname(file.path), data.file), "r");
  try {
    return new ProtobufFile(fd, data.at.end).bytes(data.at);
  } finally {
    closeSync(fd);
  }
}

/** What changes in a file. */
export interface Changes {
  /** Bytes by the weights' names, as many as there were. */
  readonly weights?: ReadonlyMap<string, Uint8Array>;
  /** What comes in the place of nodes: fields of other nodes, or none. */
  readonly nodes?: ReadonlyMap<Node, Uint8Array> | undefined;
}

/** Operators that are ONNX Runtime's own: new nodes may be of them. */
export const ownOperators = "com.microsoft";

/** Weights of fewer bytes stay in a model whose weights it refers to: shapes have to. */
const small = 1024;

/**
 * Changes a file. Weights that stay as they are stay in the files where they are, as far as possible.
 * @param most bytes that the model itself may have where weights change; with more, every weight that
 *   is not inside of the file comes from memory, which takes as much of it
 */
export function rewriteOnnx(
  file: OnnxFile,
  { weights = new Map(), nodes = new Map() }: Changes,
  most = largest,
): Rewritten {
  const { folder, locate } = placesOf(file);
  const newNode = (node: Node, open: ProtobufFile) => {
    const isMoved = externalsOf(node).some((name) => locate(name) !== name);
    return nodes.get(node) ?? (isMoved ? withConstants(file, node, open) : undefined);
  };
  /** A weight that stays, if it has to be referred to in other words. */
  const kept = (weight: Initializer, least: number) => {
    const { data } = weight;
    if (!data) return undefined;
    const length = data.at.end - data.at.start;
    const isMoved = data.file === undefined ? length >= least : locate(data.file) !== data.file;
    if (!isMoved) return undefined;
    return bytesField(5, ...header(weight), ...reference(locate(data.file), length, data.at.start));
  };
  if (weights.size === 0) {
    return { folder, model: withFields(file, (weight) => kept(weight, small), newNode) };
  }
  let size = file.size;
  for (const { name, data } of file.initializers) {
    const bytes = weights.get(name);
    if (bytes && data?.file !== undefined) size += bytes.length;
  }
  if (size <= most) {
    const field = (weight: Initializer) => {
      const bytes = weights.get(weight.name);
      if (!bytes) return kept(weight, Number.POSITIVE_INFINITY);
      return bytesField(5, ...header(weight), bytesField(9, bytes));
    };
    return { folder, model: withFields(file, field, newNode) };
  }
  const files: ExternalFile[] = [];
  const field = (weight: Initializer) => {
    const data = weights.get(weight.name);
    if (!data && weight.data?.file === undefined) return undefined;
    const path = `weight-${files.length}`;
    const bytes = data ?? numbersOf(file, weight);
    files.push({ path, data: bytes });
    return bytesField(5, ...header(weight), ...reference(path, bytes.length));
  };
  // ONNX Runtime wants either all of them in memory or none, constants in nodes too.
  const model = withFields(
    file,
    field,
    (node, open) => nodes.get(node) ?? withConstants(file, node, open),
  );
  return files.length > 0 ? { folder, model, files } : { folder, model };
}

/**
 * Where a model's files really are: they may be links, as in Hugging Face's cache, and ONNX Runtime
 * takes none that leads out of the folder which it is told.
 */
function placesOf({ path }: OnnxFile) {
  const own = realpathSync(path);
  const folder = dirname(own);
  const known = new Map<string | undefined, string>();
  /** @param name of a file of weights as the model has it; absent: the model's own */
  const locate = (name: string | undefined): string => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const real = name === undefined ? own : realpathSync(join(dirname(path), name));
    const location = relative(folder, real);
    known.set(name, location);
    return location;
  };
  return { folder, locate };
}

/** The files in which constants inside of a node lie. */
const externalsOf = ({ attributes }: Node): string[] =>
  [...attributes.values()].flatMap(({ tensor }) => tensor?.data?.file ?? []);

/** Says that a model uses them, in their first and only version. */
const operators = bytesField(8, bytesField(1, ownOperators), numberField(2, 1));

/** Copies a file, with new fields for some of its weights and nodes. */
function withFields(
  file: OnnxFile,
  weightField: (weight: Initializer) => Uint8Array | undefined,
  nodeField: (node: Node, open: ProtobufFile) => Uint8Array | undefined,
): Uint8Array {
  return withOnnx(file, (open) => {
    const fields = [
      ...file.initializers.map((weight) => ({ at: weight.field, make: () => weightField(weight) })),
      ...file.nodes.map((node) => ({ at: node.field, make: () => nodeField(node, open) })),
    ].sort((a, b) => a.at.start - b.at.start);
    const { graph } = file;
    const parts: Uint8Array[] = [];
    let from = graph.start;
    for (const { at, make } of fields) {
      const field = make();
      if (!field) continue;
      parts.push(open.bytes({ start: from, end: at.start }), field);
      from = at.end;
    }
    parts.push(open.bytes({ start: from, end: graph.end }));
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    return Buffer.concat([
      open.bytes({ start: 0, end: graph.tag }),
      bytesHeader(7, length),
      ...parts,
      open.bytes({ start: graph.end, end: file.size }),
      ...(file.domains.includes(ownOperators) ? [] : [operators]),
    ]);
  });
}

/** A node with the constants inside of it that lay in another file. */
function withConstants(file: OnnxFile, node: Node, open: ProtobufFile): Uint8Array | undefined {
  if (externalsOf(node).length === 0) return undefined;
  const [whole] = open.fields(node.field);
  const attribute = (field: Field) =>
    rebuilt(open, field, (part) => part.number === 5 && constant(part));
  const constant = (field: Field) => {
    const tensor = tensorOf(open, field);
    if (tensor.data?.file === undefined) return undefined;
    return bytesField(5, ...header(tensor), bytesField(9, numbersOf(file, tensor)));
  };
  return rebuilt(open, whole as Field, (field) => field.number === 5 && attribute(field));
}

/** A field of fields, some of them made anew. */
function rebuilt(
  open: ProtobufFile,
  whole: Field,
  anew: (field: Field) => Uint8Array | false | undefined,
): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const field of open.fields(whole)) {
    const old: Span = { start: field.tag, end: field.end };
    parts.push(anew(field) || open.bytes(old));
  }
  return bytesField(whole.number, ...parts);
}

const header = ({ name, type, dims }: Pick<Initializer, "name" | "type" | "dims">) => [
  ...dims.map((size) => numberField(1, size)),
  numberField(2, type),
  bytesField(8, name),
];

const entry = (key: string, value: string) =>
  bytesField(13, bytesField(1, key), bytesField(2, value));

const reference = (path: string, length: number, start = 0) => [
  entry("location", path),
  entry("offset", String(start)),
  entry("length", String(length)),
  numberField(14, 1),
];
