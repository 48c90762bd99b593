/** Reads safetensors files: a header in JSON, then plain numbers. */
import { type FileHandle, open } from "node:fs/promises";
import * as z from "zod";
import { assertRegular } from "../../../regular-file.js";
import { fromHalf } from "../float16.js";
import { ModelProblem, whyUnreadable } from "../problem.js";

const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(z.int().min(0)),
  data_offsets: z.tuple([z.int().min(0), z.int().min(0)]),
});

/** A tensor, read. */
export interface ReadTensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** Bytes of one number by type. Some trainers write alpha as a whole number. */
const sizes: Readonly<Record<string, number>> = {
  ...{ F64: 8, F32: 4, F16: 2, BF16: 2 },
  ...{ I64: 8, I32: 4 },
};

const largestHeader = 100 * 2 ** 20;

/** An open file. */
export class Safetensors {
  /** Names of the tensors, in the order of the header. */
  readonly names: readonly string[];
  /** What the header says besides. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly #file: FileHandle;
  readonly #name: string;
  readonly #entries: ReadonlyMap<string, z.output<typeof entrySchema>>;
  readonly #begin: number;

  private constructor(file: FileHandle, name: string, header: object, begin: number) {
    this.#file = file;
    this.#name = name;
    this.#begin = begin;
    const { __metadata__: metadata, ...tensors } = header as Record<string, unknown>;
    this.metadata = z
      .record(z.string(), z.string())
      .catch({})
      .parse(metadata ?? {});
    this.#entries = new Map(
      Object.entries(tensors).map(([key, entry]) => [key, entrySchema.parse(entry)]),
    );
    this.names = [...this.#entries.keys()];
  }

  /**
   * Opens a file, to be closed.
   * @param name what to call it in errors
   * @throws ModelProblem if it can't be read or is not what its name says
   */
  static async open(path: string, name: string): Promise<Safetensors> {
    let file: FileHandle;
    try {
      assertRegular(path);
      file = await open(path);
    } catch (error) {
      throw new ModelProblem(`${name}: ${whyUnreadable(error)}`, { cause: error });
    }
    try {
      const { size } = await file.stat();
      const length = Number((await bytesAt(file, 0, 8)).readBigUInt64LE());
      const cutAt = (end: number) => {
        if (end <= size) return;
        throw new ModelProblem(`${name}: is cut short: it has ${size} of at least ${end} bytes`);
      };
      if (length > largestHeader) throw new Error("no header");
      cutAt(8 + length);
      const header = JSON.parse((await bytesAt(file, 8, length)).toString("utf8"));
      const opened = new Safetensors(file, name, header, 8 + length);
      let end = 0;
      let taken = 0;
      for (const { data_offsets: at } of opened.#entries.values()) {
        end = Math.max(end, at[1]);
        taken += Math.max(0, at[1] - at[0]);
      }
      cutAt(8 + length + end);
      // They would take any multiple of the file in memory.
      if (taken > end) throw new ModelProblem(`${name}: its tensors overlap`);
      return opened;
    } catch (error) {
      await file.close();
      if (error instanceof ModelProblem) throw error;
      throw new ModelProblem(`${name}: is not a safetensors file`, { cause: error });
    }
  }

  /** Reads a tensor, as single precision. */
  async read(key: string): Promise<ReadTensor> {
    const { dtype, shape, data_offsets: offsets } = this.#entries.get(key) ?? { dtype: "none" };
    const size = sizes[dtype];
    const count = (shape ?? []).reduce((product, n) => product * n, 1);
    if (!size || !shape || !offsets || offsets[1] - offsets[0] !== count * size) {
      throw new ModelProblem(`${this.#name}: ${key}: can't be read as ${dtype}`);
    }
    const bytes = await bytesAt(this.#file, this.#begin + offsets[0], count * size);
    return { shape, data: floats(bytes, dtype) };
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.from(new ArrayBuffer(length));
  const { bytesRead } = await file.read(bytes, 0, length, position);
  if (bytesRead < length) throw new Error("the file ends");
  return bytes;
}

function floats({ buffer, byteLength }: Buffer, dtype: string): Float32Array {
  switch (dtype) {
    case "F16":
      return fromHalf(new Uint16Array(buffer, 0, byteLength / 2));
    case "BF16": {
      // The upper half of a single.
      const bits = Uint32Array.from(new Uint16Array(buffer, 0, byteLength / 2), (x) => x << 16);
      return new Float32Array(bits.buffer);
    }
    case "F64":
      return Float32Array.from(new Float64Array(buffer, 0, byteLength / 8));
    case "I64":
      return Float32Array.from(new BigInt64Array(buffer, 0, byteLength / 8), Number);
    case "I32":
      return Float32Array.from(new Int32Array(buffer, 0, byteLength / 4));
    default:
      return new Float32Array(buffer, 0, byteLength / 4);
  }
}
