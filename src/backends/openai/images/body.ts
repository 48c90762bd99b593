/** Answers with images in base64, read as they come. */

import { parseJson } from "../../../core/json.js";
import { Collected } from "../../../core/pieces.js";
import { Base64Decoder } from "../../http/base64.js";
import { nonsense } from "../../http/failure.js";
import { imageLimit, tooLarge } from "../../http/image.js";

const key = Buffer.from('"b64_json"');
/** What stands between the key and its text. */
const opening = /^\s*:\s*"/;
const openingSoFar = /^\s*:?\s*$/;
/** More white space than this is not waited for. */
const openingBytes = 64;
/** The head of a `data:` URL is within the first bytes. */
const headBytes = 256;
/** The longest way to write a letter in JSON: \u002b. */
const escapeBytes = 6;
/** Room where the server does not say how much it sends, bytes. */
const usualRoom = 1024 * 1024;
const quote = 0x22;
const backslash = 0x5c;

/**
 * Reads the body of `/v1/images/generations`: the texts of `b64_json` are decoded as they
 * come, the rest is kept. A JSON text of megabytes would be copied five times, each time
 * to memory that is fresh.
 */
export class ImageBody {
  /** Images in the order of their coming; in `text` their numbers stand for them. */
  readonly images: Buffer[] = [];
  readonly #expected: number;
  readonly #room: number;
  readonly #texts = new Collected();
  /** Bytes that mean nothing before the next ones are there. */
  #rest: Buffer | undefined;
  /** Decodes the text that comes at this moment. */
  #decoder: Base64Decoder | undefined;
  #begun = false;

  /**
   * @param expected images; more of them get no room in advance
   * @param room bytes that one of them may be expected to have
   */
  constructor(expected: number, room = usualRoom) {
    this.#expected = expected;
    this.#room = Math.min(room, imageLimit);
  }

  /** @throws LintelError `upstream_failed` for an image that is too large */
  push(bytes: Buffer): void {
    let left = this.#rest ? Buffer.concat([this.#rest, bytes]) : bytes;
    this.#rest = undefined;
    while (left.length > 0)
      left = this.#decoder ? this.#inside(left, this.#decoder) : this.#outside(left);
  }

  /** The JSON, in which each `b64_json` is a number's digits: a place in `images`. */
  text(): string {
    if (this.#rest) this.#texts.add(this.#rest);
    this.#rest = undefined;
    return this.#texts.take().toString("utf8");
  }

  /** Takes what stands before the next image. @returns what follows */
  #outside(bytes: Buffer): Buffer {
    const at = bytes.indexOf(key);
    if (at < 0) return this.#keep(bytes, Math.max(0, bytes.length - key.length + 1));
    const from = at + key.length;
    const next = bytes.toString("latin1", from, from + openingBytes);
    const begin = opening.exec(next);
    if (!begin) {
      if (next.length < openingBytes && openingSoFar.test(next)) return this.#keep(bytes, at);
      this.#texts.add(bytes.subarray(0, from));
      return bytes.subarray(from);
    }
    const first = from + begin[0].length;
    this.#texts.add(bytes.subarray(0, first));
    this.#texts.add(Buffer.from(String(this.images.length)));
    this.#decoder = new Base64Decoder(this.images.length < this.#expected ? this.#room : 0);
    this.#begun = false;
    return bytes.subarray(first);
  }

  /** All is text up to a place; what is behind it waits for more. */
  #keep(bytes: Buffer, place: number): Buffer {
    this.#texts.add(bytes.subarray(0, place));
    return this.#wait(bytes.subarray(place));
  }

  #wait(bytes: Buffer): Buffer {
    this.#rest = bytes;
    return bytes.subarray(bytes.length);
  }

  /** Takes base64 up to the end of its text. @returns what follows */
  #inside(bytes: Buffer, decoder: Base64Decoder): Buffer {
    const end = bytes.indexOf(quote);
    if (!this.#begun && end < 0 && bytes.length < headBytes) return this.#wait(bytes);
    let piece = end < 0 ? bytes : bytes.subarray(0, end);
    if (!this.#begun && /^data:$/i.test(piece.toString("latin1", 0, 5))) {
      piece = piece.subarray(piece.indexOf(",") + 1);
    }
    this.#begun = true;
    if (piece.includes(backslash)) {
      const last = piece.lastIndexOf(backslash);
      if (end < 0 && piece.length - last < escapeBytes) {
        this.#wait(piece.subarray(last));
        piece = piece.subarray(0, last);
      }
      piece = unescaped(piece);
    }
    decoder.push(piece);
    if (decoder.length > imageLimit) throw tooLarge();
    if (end < 0) return bytes.subarray(bytes.length);
    this.images.push(decoder.end());
    this.#decoder = undefined;
    return bytes.subarray(end);
  }
}

/** Some servers write / and + as escapes. */
function unescaped(piece: Buffer): Buffer {
  const text = parseJson(`"${piece.toString("latin1")}"`);
  if (typeof text !== "string") throw nonsense("answered with something that is not JSON");
  return Buffer.from(text, "latin1");
}
