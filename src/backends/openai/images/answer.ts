/** Reads images as the servers of `/v1/images/generations` answer them. */

import type { CallSignal } from "../../../core/cancellation.js";
import { isObject, type JsonObject } from "../../../core/json.js";
import { readObject } from "../../completions/completion.js";
import { type ServerEvent, saysNothing } from "../../completions/events.js";
import type { Answer } from "../../http/answer.js";
import { failureIn, nonsense } from "../../http/failure.js";
import { type FetchImageOptions, fetchImage } from "../../http/fetch-image.js";
import { asPng, imageOfBase64 } from "../../http/image.js";
import { string } from "../../http/json.js";
import { type LargeAnswer, piecesOf } from "../../http/large.js";
import { previewOf } from "../../http/preview.js";
import { withheldIn } from "../../http/withheld.js";
import { ImageBody } from "./body.js";

/** Most bytes of an answer with images. */
const answerLimit = 256 * 1024 * 1024;

/** What the images of an answer are read with. */
export interface Reading {
  /** The way to those that are not inline. */
  readonly fetching: FetchImageOptions;
  readonly signal: CallSignal;
  /** The answer's place; the caller leaves it. */
  readonly large: LargeAnswer;
}

/** An image that was made. */
export interface Made {
  readonly png: Uint8Array;
  /** What the server made of the prompt; empty: it does not tell. */
  readonly revisedPrompt: string;
}

/**
 * Reads a whole answer; what is left of it after an error is the caller's to abort.
 * @param n how many images it must have
 * @throws LintelError as the server reports it, or `upstream_failed`
 */
export async function readImages(answer: Answer, n: number, reading: Reading): Promise<Made[]> {
  const { images, text } = await readBody(answer, n, reading.large);
  const value = readObject(text);
  const failure = failureIn(value) ?? withheldIn(value);
  if (failure) throw failure;
  // SiliconFlow has them in `images`.
  const found = value.data ?? value.images;
  const data = Array.isArray(found) ? found : [];
  if (data.length !== n) throw nonsense(`made ${data.length} images instead of ${n}`);
  return Promise.all(
    data.map(async (entry) => ({
      png: await readImage(entry, images, reading),
      revisedPrompt: revisedPromptOf(entry),
    })),
  );
}

/** DALL·E, xAI and SGLang tell it. */
const revisedPromptOf = (entry: unknown): string =>
  isObject(entry) ? string(entry.revised_prompt) : "";

async function readBody(answer: Answer, n: number, large: LargeAnswer) {
  const length = Number(answer.headers["content-length"]);
  const body = new ImageBody(n, length > 0 ? Math.ceil((length * 0.75) / n) : undefined);
  let came = 0;
  for await (const piece of large.pieces(piecesOf(answer))) {
    came += piece.length;
    if (came > answerLimit) throw nonsense("sent an answer that is too large");
    body.push(piece);
  }
  return { images: body.images, text: body.text() };
}

/** Servers that don't know `response_format` answer with addresses. */
async function readImage(
  entry: unknown,
  images: readonly Buffer[],
  { fetching, signal, large }: Reading,
): Promise<Uint8Array> {
  if (isObject(entry)) {
    const inline = images[Number(entry.b64_json ?? Number.NaN)];
    if (inline && inline.length > 0) return asPng(inline);
    if (typeof entry.url === "string" && entry.url !== "") {
      return fetchImage(entry.url, fetching, signal, large);
    }
  }
  throw nonsense("answered without an image");
}

/** What an event of a streamed generation says. */
export type ImageEvent =
  | { readonly kind: "partial"; readonly index: number; readonly png: Uint8Array }
  | ({ readonly kind: "completed" } & Made);

/**
 * Reads an event; `undefined` for one that does not matter here.
 * @throws LintelError as the server reports it, or `upstream_failed`
 */
export async function readImageEvent(event: ServerEvent): Promise<ImageEvent | undefined> {
  const { data, failed } = event;
  if (saysNothing(data)) return undefined;
  const value: JsonObject = readObject(data);
  const failure = failureIn(value, failed);
  if (failure) throw failure;
  const { type, b64_json, partial_image_index } = value;
  if (typeof b64_json !== "string") return undefined;
  if (type === "image_generation.completed") {
    const png = await imageOfBase64(b64_json);
    return { kind: "completed", png, revisedPrompt: revisedPromptOf(value) };
  }
  if (type !== "image_generation.partial_image") return undefined;
  const index = typeof partial_image_index === "number" ? partial_image_index : 0;
  const png = await previewOf(b64_json);
  return png && { kind: "partial", index, png };
}
