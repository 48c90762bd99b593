/** Messages of one streamed completion differ in their text, as a rule in nothing else. */
import { toBinary } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import {
  type LLMChoice,
  LLMChoiceSchema,
  type LLMMessage,
  LLMMessageSchema,
  type LLMResponse,
  LLMResponseSchema,
} from "../../../../gen/lintel/v1/chat_pb.js";

/** Shared: nearly all calls that are not streamed get no further. */
const nothing = new Uint8Array(0);

/** A message of which only the text is to be encoded. */
export interface Piece {
  readonly text: string;
  /** Of the text in UTF-8. */
  readonly textBytes: number;
  /** Bytes of the message. */
  readonly length: number;
}

/**
 * Encodes pieces with what was encoded for the first one, byte for byte as `toBinary`
 * does, which walks all fields of each and makes two buffers outside of the heap for it.
 */
export class PieceTemplate {
  #first: LLMResponse | undefined;
  /** What stands before the choice. */
  #head = nothing;
  /** The choice's `delta` up to the text. */
  #role = nothing;

  /** @returns `undefined` if there is more to encode than a text */
  pieceOf(message: LLMResponse): Piece | undefined {
    const choice = message.choices[0];
    if (!choice || message.choices.length > 1 || !isPlain(message, choice)) return undefined;
    const { delta } = choice;
    if (!delta || delta.content === "" || saysMore(delta)) return undefined;
    if (!this.#first) this.#learn(message, delta);
    else if (!isLike(message, this.#first)) return undefined;
    const text = delta.content;
    const textBytes = Buffer.byteLength(text);
    const choiceBytes = lengthOfField(this.#deltaBytes(textBytes));
    return { text, textBytes, length: this.#head.length + lengthOfField(choiceBytes) };
  }

  /** Writes a piece that `pieceOf` gave. */
  write({ text, textBytes }: Piece, into: Buffer, from: number): void {
    const deltaBytes = this.#deltaBytes(textBytes);
    into.set(this.#head, from);
    let at = from + this.#head.length;
    at = writeHead(into, at, choicesTag, lengthOfField(deltaBytes));
    at = writeHead(into, at, deltaTag, deltaBytes);
    into.set(this.#role, at);
    at = writeHead(into, at + this.#role.length, contentTag, textBytes);
    into.write(text, at, textBytes === text.length ? "latin1" : "utf8");
  }

  #deltaBytes(textBytes: number): number {
    return this.#role.length + lengthOfField(textBytes);
  }

  #learn(message: LLMResponse, delta: LLMMessage): void {
    this.#first = message;
    this.#head = toBinary(LLMResponseSchema, { ...message, choices: [] });
    this.#role = toBinary(LLMMessageSchema, { ...delta, content: "" });
  }
}

/** Whether something stands behind the text. */
const saysMore = ({ toolCalls, toolCallId, parts, images }: LLMMessage): boolean =>
  toolCalls.length + parts.length + images.length > 0 || toolCallId !== "";

/** Whether all that a message says besides its text stands before its choice. */
function isPlain(message: LLMResponse, choice: LLMChoice): boolean {
  const { index, finishReason, delta } = choice;
  return (
    index === 0 &&
    finishReason === "" &&
    choice.message === undefined &&
    choice.logprobs === undefined &&
    !message.usageEstimated &&
    message.warnings.length === 0 &&
    // Fields that this version does not know.
    !(message.$unknown || choice.$unknown || delta?.$unknown)
  );
}

const isLike = (one: LLMResponse, other: LLMResponse): boolean =>
  one.id === other.id &&
  one.model === other.model &&
  one.created === other.created &&
  one.usage === other.usage &&
  one.choices[0]?.delta?.role === other.choices[0]?.delta?.role;

/** Of a field with a length; its number is below 16, so that the tag is one byte. */
const tagOf = ({ number }: { readonly number: number }) => (number << 3) | WireType.LengthDelimited;

const choicesTag = tagOf(LLMResponseSchema.field.choices);
const deltaTag = tagOf(LLMChoiceSchema.field.delta);
const contentTag = tagOf(LLMMessageSchema.field.content);

/** Bytes of a field: its tag, its length, and so many more. */
function lengthOfField(bytes: number): number {
  let length = 2 + bytes;
  for (let rest = bytes >>> 7; rest > 0; rest >>>= 7) length++;
  return length;
}

/** Writes a field's tag and its length. @returns where it goes on */
function writeHead(into: Buffer, from: number, tag: number, length: number): number {
  let at = from;
  into[at++] = tag;
  let rest = length;
  for (; rest > 127; rest >>>= 7) into[at++] = (rest & 127) | 128;
  into[at++] = rest;
  return at;
}
