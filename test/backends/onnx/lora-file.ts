/** Writes safetensors files, for tests. */
import { writeFile } from "node:fs/promises";
import { toHalf } from "../../../src/backends/onnx/float16.js";

/** A tensor to write. */
export interface Tensor {
  readonly shape: readonly number[];
  /** Default: single precision. */
  readonly dtype?: keyof typeof writers;
  readonly data: ArrayLike<number>;
}

const writers = {
  F32: (data: ArrayLike<number>) => Float32Array.from(data),
  F64: (data: ArrayLike<number>) => Float64Array.from(data),
  F16: (data: ArrayLike<number>) => toHalf(Float32Array.from(data)),
  /** The upper half of a single. */
  BF16: (data: ArrayLike<number>) =>
    Uint16Array.from(new Uint32Array(Float32Array.from(data).buffer), (bits) => bits >>> 16),
  I32: (data: ArrayLike<number>) => Int32Array.from(data),
  I64: (data: ArrayLike<number>) => BigInt64Array.from(Array.from(data, BigInt)),
};

/** Writes a file. */
export async function writeSafetensors(
  path: string,
  tensors: Readonly<Record<string, Tensor>>,
  metadata?: Readonly<Record<string, string>>,
): Promise<void> {
  const header: Record<string, unknown> = metadata ? { __metadata__: metadata } : {};
  const parts: Buffer[] = [];
  let at = 0;
  for (const [name, { shape, data, dtype = "F32" }] of Object.entries(tensors)) {
    const bytes = Buffer.from(writers[dtype](data).buffer);
    header[name] = { dtype, shape, data_offsets: [at, at + bytes.length] };
    at += bytes.length;
    parts.push(bytes);
  }
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  await writeFile(path, Buffer.concat([length, json, ...parts]));
}

/** Numbers that look random and are always the same. */
export const numbers = (count: number, scale = 0.3): number[] =>
  Array.from({ length: count }, (_, i) => scale * Math.sin(i * 12.9898 + 1) * ((i % 7) - 3));

/** A LoRA of one module, in diffusers' naming. */
export function loraOf(
  module: string,
  dims: readonly number[],
  rank = 2,
): Readonly<Record<string, Tensor>> {
  const [outputs = 1, inputs = 1, ...kernel] = dims;
  const area = kernel.reduce((product, size) => product * size, 1);
  return {
    [`${module}.lora_A.weight`]: {
      shape: [rank, inputs, ...kernel],
      data: numbers(rank * inputs * area),
    },
    [`${module}.lora_B.weight`]: {
      shape: [outputs, rank, ...kernel.map(() => 1)],
      data: numbers(outputs * rank),
    },
  };
}
