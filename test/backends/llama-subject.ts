/** A `llama` backend over a tiny model of random weights, whose tokens are bytes. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { LLMMessage, LLMRequest, LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { createLlamaBackend } from "../../src/backends/llama/index.js";
import { llamaSchema } from "../../src/backends/llama/schema.js";
import type { Backend } from "../../src/core/backend.js";
import { chatDefaults } from "../../src/core/defaults.js";
import { silent } from "../../src/core/log.js";
import { say as messageOf } from "../support/messages.js";
import { callOf } from "./subject.js";

/** Path of a file beside the repository's root. */
export const file = (path: string) =>
  fileURLToPath(new URL(path, new URL("../../", import.meta.url)));

/** Random weights; 128 tokens of context; never ends by itself. */
export const tiny = file("test/backends/fixtures/gguf/tiny.gguf");

/**
 * The bytes of the tiny model with another template, which may be longer.
 * @param words other texts for some of its tokens
 */
export async function tinyWith(
  template: string,
  words: Readonly<Record<string, string>> = {},
): Promise<Buffer> {
  let bytes = await readFile(tiny);
  const before = bytes.length;
  for (const [word, other] of Object.entries(words)) bytes = withText(bytes, sized(word), other);
  const key = "tokenizer.chat_template";
  // Behind the key stands the type.
  const at = bytes.indexOf(key) + key.length + 4;
  const length = Number(bytes.readBigUInt64LE(at));
  // What stands behind the header is aligned.
  const off = Buffer.byteLength(template) - length + bytes.length - before;
  const padded = "\n".repeat(((-off % 32) + 32) % 32) + template;
  return withText(bytes, bytes.subarray(at, at + 8 + length), padded);
}

/** The bytes of the tiny model, or of one made of it, whose marks are no control tokens, but the users' own words. */
export function ownWords(
  bytes: Buffer,
  marks: readonly number[] = [tokenIds.user, tokenIds.system],
) {
  const types = "tokenizer.ggml.token_type";
  // Behind the key, the types of the list and its entries, and its length.
  const at = bytes.indexOf(types) + types.length + 4 + 4 + 8;
  for (const token of marks) bytes.writeInt32LE(4, at + 4 * token);
  return bytes;
}

/** The bytes of a file with one text more in its header. @param key of it */
export function withField(bytes: Buffer, key: string, text: string): Buffer {
  // Behind the magic, the version, and the number of tensors.
  const [count, first] = [16, 24];
  const head = Buffer.from(bytes.subarray(0, first));
  head.writeBigUInt64LE(head.readBigUInt64LE(count) + 1n, count);
  const type = Buffer.from([8, 0, 0, 0]);
  const length = sized(key).length + type.length + sized(text).length;
  // What stands behind the header is aligned.
  const padded = "\n".repeat(((-length % 32) + 32) % 32) + text;
  return Buffer.concat([head, sized(key), type, sized(padded), bytes.subarray(first)]);
}

/** A text as it stands in the file: behind its length in 64 bits. */
function sized(text: string): Buffer {
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(Buffer.byteLength(text)));
  return Buffer.concat([size, Buffer.from(text)]);
}

function withText(bytes: Buffer, text: Buffer, other: string) {
  const at = bytes.indexOf(text);
  return Buffer.concat([bytes.subarray(0, at), sized(other), bytes.subarray(at + text.length)]);
}

/** What its marks are as tokens: `<|bos|>` and so on. */
export const tokenIds = { bos: 0, user: 1, assistant: 2, system: 3, end: 4 };

/** Those of its tokens that are marks, in order. */
export const special = (tokens: readonly number[]) => tokens.filter((token) => token < 5);

/** The model that Lintel brings. */
export const trained = file("models/chat/lintel-chat.gguf");

/** A backend for a file; fields as in the configuration. */
export function backendFor(path: string, config: object = {}): Backend {
  return createLlamaBackend(llamaSchema.parse({ type: "llama", name: "test", path, ...config }), {
    log: silent,
  });
}

/** A message. */
export const say = (content: string, role = "user"): LLMMessage => messageOf(role, content);

/** A request with every default filled in, but greedy and short. */
export function chatRequest(content: string, more: Partial<LLMRequest> = {}): LLMRequest {
  return {
    $typeName: "lintel.v1.LLMRequest",
    messages: [say(content)],
    model: "tiny",
    ...chatDefaults,
    temperature: 0,
    maxTokens: 8,
    stop: [],
    tools: [],
    reasoningEffort: "",
    user: "",
    promptCacheKey: "",
    modalities: [],
    verbosity: "",
    serviceTier: "",
    logitBias: {},
    ...more,
  };
}

/** The answer's messages, one after the other. */
export function start(
  backend: Backend,
  request: LLMRequest,
  signal?: AbortSignal,
): AsyncIterator<readonly LLMResponse[]> {
  const { chat } = backend.handlers;
  if (!chat) throw new Error("no chat");
  return chat(callOf("chat", request, signal))[Symbol.asyncIterator]();
}

/** A whole answer. */
export interface Answer {
  readonly text: string;
  readonly pieces: readonly string[];
  readonly finishReason: string;
  /** The text that ended it. */
  readonly stopSequence: string | undefined;
  readonly prompt: number;
  readonly completion: number;
}

/** Runs a completion to its end. */
export async function answer(
  backend: Backend,
  request: LLMRequest,
  signal?: AbortSignal,
): Promise<Answer> {
  const pieces: string[] = [];
  let last: LLMResponse | undefined;
  const messages = { [Symbol.asyncIterator]: () => start(backend, request, signal) };
  for await (const batch of messages) {
    for (const message of batch) {
      last = message;
      pieces.push(message.choices[0]?.delta?.content ?? "");
    }
  }
  return {
    text: pieces.join(""),
    pieces,
    finishReason: last?.choices[0]?.finishReason ?? "",
    stopSequence: last?.choices[0]?.stopSequence,
    prompt: last?.usage?.promptTokens ?? -1,
    completion: last?.usage?.completionTokens ?? -1,
  };
}
