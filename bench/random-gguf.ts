/** A Llama of random weights as a GGUF file, as large as is asked for: for measuring, not for talking. */
import { randomFillSync } from "node:crypto";
import { once } from "node:events";
import { createWriteStream } from "node:fs";

/** Its shape. What the weights say does not matter for speed; how they are written does. */
export interface Shape {
  readonly width: number;
  readonly inner: number;
  readonly layers: number;
  readonly heads: number;
  readonly context: number;
  /** Tokens, 256 bytes and 5 control tokens among them. */
  readonly vocabulary: number;
  readonly type: WeightType;
}

/** How weights are written: Q8_0 in blocks, in half or in single precision. */
export const weightTypes = ["q8_0", "f16", "f32"] as const;
export type WeightType = (typeof weightTypes)[number];

/** Parameters of such a model. */
export const parametersOf = ({ width, inner, layers, vocabulary }: Shape) =>
  layers * (4 * width ** 2 + 3 * width * inner) + 2 * vocabulary * width;

/** Numbers of GGUF's types. */
const types = { uint32: 4, float32: 6, bool: 7, string: 8, array: 9 } as const;
const f32 = 0;
const typeNumbers = { f32, f16: 1, q8_0: 8 } as const satisfies Record<WeightType, number>;
const alignment = 32;

const control = ["<|bos|>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>"];
const template =
  "{{ bos_token }}{% for message in messages %}{{ '<|' + message.role + '|>' + message.content + '<|end|>' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";

/** Writes the file. */
export async function writeRandomModel(path: string, shape: Shape): Promise<void> {
  const { width, inner, layers, heads, context, vocabulary, type } = shape;
  const words = [...control, ...byteWords()];
  while (words.length < vocabulary) words.push(`word${words.length}`);
  const fields = [
    field("general.architecture", text("llama")),
    field("general.name", text("random")),
    field("general.quantization_version", uint(2)),
    field("llama.context_length", uint(context)),
    field("llama.embedding_length", uint(width)),
    field("llama.block_count", uint(layers)),
    field("llama.feed_forward_length", uint(inner)),
    field("llama.attention.head_count", uint(heads)),
    field("llama.attention.head_count_kv", uint(heads)),
    field("llama.attention.layer_norm_rms_epsilon", float(1e-5)),
    field("llama.rope.dimension_count", uint(width / heads)),
    field("llama.vocab_size", uint(vocabulary)),
    field("tokenizer.ggml.model", text("gpt2")),
    field("tokenizer.ggml.pre", text("gpt-2")),
    field("tokenizer.ggml.tokens", list(types.string, words.map(bytesOf))),
    // llama.cpp wants a list; this one makes no token, for there is no such word.
    field("tokenizer.ggml.merges", list(types.string, [bytesOf("a b")])),
    field("tokenizer.ggml.bos_token_id", uint(0)),
    field("tokenizer.ggml.eos_token_id", uint(4)),
    field("tokenizer.ggml.add_bos_token", number(types.bool, Buffer.of(0))),
    field("tokenizer.chat_template", text(template)),
  ];
  const tensors: Tensor[] = [
    { name: "token_embd.weight", columns: width, rows: vocabulary },
    { name: "output.weight", columns: width, rows: vocabulary, unlikely: control.length },
    { name: "output_norm.weight", columns: width },
    ...Array.from({ length: layers }, (_, i) => [
      { name: `blk.${i}.attn_norm.weight`, columns: width },
      { name: `blk.${i}.ffn_norm.weight`, columns: width },
      ...["attn_q", "attn_k", "attn_v", "attn_output"].map((part) => ({
        name: `blk.${i}.${part}.weight`,
        columns: width,
        rows: width,
      })),
      { name: `blk.${i}.ffn_gate.weight`, columns: width, rows: inner },
      { name: `blk.${i}.ffn_up.weight`, columns: width, rows: inner },
      { name: `blk.${i}.ffn_down.weight`, columns: inner, rows: width },
    ]).flat(),
  ];
  let offset = 0;
  const infos = tensors.map((tensor) => {
    const dimensions = [tensor.columns, ...(tensor.rows ? [tensor.rows] : [])];
    const info = Buffer.concat([
      bytesOf(tensor.name),
      uint32(dimensions.length),
      ...dimensions.map(uint64),
      uint32(tensor.rows ? typeNumbers[type] : f32),
      uint64(offset),
    ]);
    offset += padded(sizeOf(tensor, type));
    return info;
  });
  const magic = [Buffer.from("GGUF"), uint32(3), uint64(tensors.length), uint64(fields.length)];
  const head = Buffer.concat([...magic, ...fields, ...infos]);
  const file = createWriteStream(path);
  const write = async (bytes: Buffer) => {
    if (!file.write(bytes)) await once(file, "drain");
  };
  await write(Buffer.concat([head, Buffer.alloc(padded(head.length) - head.length)]));
  for (const tensor of tensors) {
    const bytes = Buffer.alloc(padded(sizeOf(tensor, type)));
    weights(tensor, type).copy(bytes);
    await write(bytes);
  }
  file.end();
  await once(file, "close");
}

interface Tensor {
  readonly name: string;
  readonly columns: number;
  /** Absent: a vector of ones, in single precision. */
  readonly rows?: number;
  /** Rows at the beginning that are 0: tokens that are never likely, so that answers run on. */
  readonly unlikely?: number;
}

const block = 32;
const blockBytes = 2 + block;

function sizeOf({ columns, rows }: Tensor, type: WeightType): number {
  if (!rows) return 4 * columns;
  if (type === "q8_0") return ((rows * columns) / block) * blockBytes;
  return (type === "f16" ? 2 : 4) * rows * columns;
}

function weights(tensor: Tensor, type: WeightType): Buffer {
  const { columns, rows, unlikely = 0 } = tensor;
  if (!rows) return Buffer.from(new Float32Array(columns).fill(1).buffer);
  const bytes = randomFillSync(Buffer.alloc(sizeOf(tensor, type)));
  if (type === "f32") {
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    // From 2^-6 to 2^-5, of either sign.
    for (let i = 0; i < words.length; i++) words[i] = ((words[i] ?? 0) & 0x807fffff) | 0x3c800000;
  } else if (type === "f16") {
    const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
    // From 2^-6 to 2^-5, of either sign.
    for (let i = 0; i < halves.length; i++) halves[i] = ((halves[i] ?? 0) & 0x83ff) | 0x2400;
  } else {
    // Each block is a scale in half precision, here 2^-12, and 32 whole numbers.
    for (let at = 0; at < bytes.length; at += blockBytes) bytes.writeUInt16LE(0x0c00, at);
  }
  return bytes.fill(0, 0, sizeOf({ ...tensor, rows: unlikely || 0 }, type) * Number(unlikely > 0));
}

const padded = (bytes: number) => Math.ceil(bytes / alignment) * alignment;

/** The 256 bytes as GPT-2 writes them: printable ones as they are, the others shifted. */
function byteWords(): string[] {
  const plain = (b: number) => (b >= 33 && b < 127) || (b >= 161 && b < 173) || b >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCharCode(plain(b) ? b : next++));
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function bytesOf(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint64(bytes.length), bytes]);
}

const field = (name: string, value: Buffer) => Buffer.concat([bytesOf(name), value]);
const number = (type: number, value: Buffer) => Buffer.concat([uint32(type), value]);
const uint = (value: number) => number(types.uint32, uint32(value));
const float = (value: number) =>
  number(types.float32, Buffer.from(new Float32Array([value]).buffer));
const text = (value: string) => number(types.string, bytesOf(value));
const list = (type: number, items: readonly Buffer[]) =>
  Buffer.concat([uint32(types.array), uint32(type), uint64(items.length), ...items]);
