/** Requests that the RPC library decodes: what they unfold to is looked at before it does. */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import type { TooFar } from "../items.js";
import { prefixLength } from "./edge/envelopes.js";
import { type Frame, framesIn, isBare, packedFlag } from "./frames.js";

/** A request whose body is still bytes. */
type Request = UniversalServerRequest & { readonly body: AsyncIterable<Uint8Array> };

const unpack = promisify(gunzip);

/**
 * The body, which fails where a message of it unfolds too far.
 * @param inspect says so of a message
 * @param limit largest message, bytes; what has more is left to the library
 * @param found told why it fails
 */
export async function* withoutTooMuch(
  { body, header }: Request,
  inspect: (message: Uint8Array) => TooFar | undefined,
  limit: number,
  found: (tooFar: TooFar) => void,
): AsyncGenerator<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body) {
    parts.push(part);
    length += part.length;
    if (length > limit + prefixLength) yield* parts.splice(0);
  }
  if (length > limit + prefixLength) return;
  const whole = Buffer.concat(parts, length);
  const packed = header.get("content-encoding") === "gzip" ? packedFlag : 0;
  const messages = isBare(header) ? [{ flags: packed, data: whole }] : firstTwo(whole);
  for (const { flags, data } of messages) {
    const message = (flags & packedFlag) !== 0 ? await unpacked(data, limit) : data;
    const tooFar = message && inspect(message);
    if (tooFar) {
      found(tooFar);
      throw new ConnectError(tooFar.defect.message, Code.InvalidArgument);
    }
  }
  yield whole;
}

/** The library reads a second message to find out that there is more than one. */
function firstTwo(body: Buffer): Frame[] {
  const [first, second] = framesIn(body);
  return [first, second].filter((frame) => frame !== undefined);
}

/** `undefined` where it is no gzip, or more than is allowed, which the library tells. */
const unpacked = (bytes: Buffer, limit: number): Promise<Buffer | undefined> =>
  unpack(bytes, { maxOutputLength: limit }).catch(() => undefined);
