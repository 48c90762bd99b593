/** What stands in an ONNX file: its nodes, and where its weights lie. */
import { closeSync, openSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { assertRegular } from "../../../regular-file.js";
import { ModelProblem, whyUnreadable } from "../problem.js";
import { type Initializer, type ModelProto, modelIn, type Node } from "./model-proto.js";
import { CutShort, NotProtobuf, ProtobufFile, type Span } from "./protobuf.js";

/** What stands in a file. */
export interface OnnxFile extends ModelProto {
  readonly path: string;
  /** Name for errors. */
  readonly name: string;
  readonly size: number;
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
    return checked({ path, name, size, ...modelIn(file) });
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
