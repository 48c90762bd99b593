/** LoRAs as GGUF files, of random factors. */

const alignment = 32;

/** Types of GGUF's values. */
const [float, text] = [6, 8];

/** What an adapter is, and changes. */
export interface Adapter {
  /** Default: `llama`. */
  readonly architecture?: string;
  /** Names of the weights that it changes, with their columns and rows. */
  readonly weights: Readonly<Record<string, readonly [columns: number, rows: number]>>;
}

/** The bytes of an adapter of rank 1. */
export function adapter({ architecture = "llama", weights }: Adapter): Buffer {
  const fields = [
    field("general.type", text, sized("adapter")),
    field("general.architecture", text, sized(architecture)),
    field("adapter.type", text, sized("lora")),
    field("adapter.lora.alpha", float, Buffer.from(new Float32Array([1]).buffer)),
  ];
  const tensors = Object.entries(weights).flatMap(([name, [columns, rows]]) => [
    { name: `${name}.lora_a`, dimensions: [columns, 1] },
    { name: `${name}.lora_b`, dimensions: [1, rows] },
  ]);
  let offset = 0;
  const described = tensors.map(({ name, dimensions }) => {
    const described = Buffer.concat([
      sized(name),
      int32(dimensions.length),
      ...dimensions.map(int64),
      int32(0),
      int64(offset),
    ]);
    offset += padded(4 * columnsOf(dimensions));
    return described;
  });
  const head = Buffer.concat([
    Buffer.from("GGUF"),
    int32(3),
    int64(tensors.length),
    int64(fields.length),
    ...fields,
    ...described,
  ]);
  const data = tensors.map(({ dimensions }, at) => {
    const count = columnsOf(dimensions);
    // Each differs from the others, or all tokens would be as likely as before.
    const numbers = Float32Array.from({ length: count }, (_, i) => Math.sin(i + at + 1));
    const bytes = Buffer.alloc(padded(4 * count));
    Buffer.from(numbers.buffer).copy(bytes);
    return bytes;
  });
  return Buffer.concat([head, Buffer.alloc(padded(head.length) - head.length), ...data]);
}

const columnsOf = (dimensions: readonly number[]) => dimensions.reduce((all, one) => all * one, 1);
const padded = (bytes: number) => Math.ceil(bytes / alignment) * alignment;

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function int64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/** A text, or bytes, behind its length. */
const sized = (value: string) =>
  Buffer.concat([int64(Buffer.byteLength(value)), Buffer.from(value)]);

const field = (key: string, type: number, value: Buffer) =>
  Buffer.concat([sized(key), int32(type), value]);
