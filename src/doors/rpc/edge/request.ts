/** Reads what a gRPC client sends: who is asked, for how long, and the one message. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { LintelError } from "../../../core/errors.js";
import { Collected } from "../../../core/pieces.js";
import { longestTimerMs } from "../../../core/timers.js";
import { type Unfinished, uncounted, unfinishedOf } from "../../unfinished.js";
import { prefixLength } from "./envelopes.js";

/**
 * Whether a request is plain gRPC as the edge takes it: protobuf, and no
 * compression. Everything else is the RPC library's.
 */
export function isPlain(headers: IncomingHttpHeaders): boolean {
  const type = headers["content-type"];
  if (type !== "application/grpc" && type !== "application/grpc+proto") return false;
  const encoding = headers["grpc-encoding"];
  return headers[":method"] === "POST" && (encoding === undefined || encoding === "identity");
}

/** Why there is no message: the stream has none or several, or one that is not as announced. */
export type Malformed = "none" | "several" | "compressed" | "incomplete" | "too_large";

/** @param limit most bytes of a message */
export const messageTooLarge = (limit: number) =>
  new LintelError("too_large", `the message is too large: at most ${limit} bytes are allowed`);

/**
 * Collects the bytes of the one message that a request has.
 * @param limit most bytes of the message
 * @param done called once, also with what was wrong; not if the client left before
 */
export function readMessage(
  stream: ServerHttp2Stream,
  limit: number,
  done: (message: Buffer | Malformed) => void,
): void {
  const came = new Collected();
  let tooLarge = false;
  let unfinished: Unfinished | undefined;
  stream.on("data", (part: Buffer) => {
    // What is too much is still read to its end, so that the client reads our answer.
    if (tooLarge) return;
    came.add(part);
    if (came.length > prefixLength + limit) {
      tooLarge = true;
      came.drop();
      unfinished?.ends(stream);
      return;
    }
    if (came.length <= uncounted) return;
    unfinished ??= unfinishedOf(stream.session);
    unfinished?.keeps(stream, came.length);
  });
  stream.on("end", () => {
    unfinished?.ends(stream);
    return done(tooLarge ? "too_large" : messageIn(came.take()));
  });
}

function messageIn(bytes: Buffer): Buffer | Malformed {
  if (bytes.length === 0) return "none";
  if (bytes.length < prefixLength) return "incomplete";
  const end = prefixLength + bytes.readUInt32BE(1);
  if (((bytes[0] ?? 0) & 1) === 1) return "compressed";
  if (bytes.length < end) return "incomplete";
  return bytes.length > end ? "several" : bytes.subarray(prefixLength, end);
}

const unitMs: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/**
 * The client's deadline, milliseconds from now; absent if there is none, or one
 * so far off that no timer counts it; `invalid_value` if it is not in gRPC's form.
 */
export function timeoutIn(headers: IncomingHttpHeaders): number | LintelError | undefined {
  const header = headers["grpc-timeout"];
  if (header === undefined) return undefined;
  const [, count, unit] = /^(\d{1,8})([HMSmun])$/.exec(String(header)) ?? [];
  if (unit === undefined) {
    return new LintelError("invalid_value", "grpc-timeout: must be up to 8 digits and a unit", {
      param: "grpc-timeout",
    });
  }
  const ms = Math.ceil(Number(count) * (unitMs[unit] ?? 0));
  return ms > longestTimerMs ? undefined : ms;
}
