/** Bodies of RPCs as bytes: one message, or messages in envelopes. */
import { prefixLength } from "./edge/envelopes.js";

/** What stands in an envelope. */
export interface Frame {
  readonly flags: number;
  readonly data: Buffer;
}

/** Flag of an envelope whose message is compressed. */
export const packedFlag = 1;

/** The envelopes of a body, as far as they are whole. */
export function* framesIn(bytes: Uint8Array): Generator<Frame> {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + prefixLength <= body.length; ) {
    const end = at + prefixLength + body.readUInt32BE(at + 1);
    if (end > body.length) return;
    yield { flags: body[at] ?? 0, data: body.subarray(at + prefixLength, end) };
    at = end;
  }
}

/** The content type; empty if there is none. */
export const typeOf = (header: Headers): string => header.get("content-type") ?? "";

/** Whether messages are JSON, in any protocol. */
export const isJson = (header: Headers): boolean => /json/i.test(typeOf(header));

/** Whether a body is the message, without an envelope: a unary call of Connect. */
export const isBare = (header: Headers): boolean =>
  /^application\/(json|proto)/i.test(typeOf(header));

/** The headers that say how messages are packed, of all protocols. */
export const encodingNames = ["content-encoding", "connect-content-encoding", "grpc-encoding"];

/** How messages are packed, in any protocol: `identity` if no header says it. */
export function encodingOf(header: Headers): string {
  const name = isBare(header)
    ? "content-encoding"
    : /^application\/connect/i.test(typeOf(header))
      ? "connect-content-encoding"
      : "grpc-encoding";
  return header.get(name) ?? "identity";
}
