/** The bytes of a request's body. */
import type { FastifyRequest } from "fastify";
import type { LintelError } from "../../core/errors.js";
import { Collected } from "../../core/pieces.js";
import { afterReads } from "../../core/turn.js";
import { withWaiting } from "../pieces.js";
import { type Unfinished, uncounted, unfinishedBeside } from "../unfinished.js";
import { bodyIncomplete, bodyTooLarge } from "./error.js";

/** A request's body before it is parsed. */
type Payload = FastifyRequest["raw"];

/**
 * Reads a body. As a rule it came in one read of the socket with its head, and then waits
 * in the request's buffer once Node's parser is through with it: taken from there it costs
 * neither listeners nor events, of which Fastify's own way has three for each request. Such
 * a request does not come to its end until its connection brings another: until then the
 * connection holds it, without its body. To resume it costs all that was saved.
 * @param limit most bytes
 * @param done called once: with all bytes, or with `too_large` or `invalid_json`
 */
export function readBytes(
  { headers }: FastifyRequest,
  payload: Payload,
  limit: number,
  done: (error: LintelError | null, bytes?: Buffer) => void,
): void {
  const announced = Number(headers["content-length"]);
  if (announced > limit) {
    done(bodyTooLarge(limit));
    return;
  }
  afterReads(() => {
    // A stream that is destroyed tells nobody of its end.
    if (payload.destroyed) return done(bodyIncomplete(payload.errored ?? undefined));
    const first: Buffer | null = payload.readableLength === announced ? payload.read() : null;
    if (first) done(null, withWaiting(payload, first));
    else collect(payload, limit, done);
  }, payload.httpVersionMajor === 2);
}

/** Reads a body that nobody wants, and drops it: the connection's next request comes after it. */
export function discard(payload: Payload): void {
  payload.on("error", () => {}).resume();
}

function collect(payload: Payload, limit: number, done: Parameters<typeof readBytes>[3]): void {
  const came = new Collected();
  let unfinished: Unfinished | undefined;
  const settle = (error: LintelError | null, bytes?: Buffer) => {
    payload.off("data", take).off("end", end).off("error", fail);
    unfinished?.ends(payload);
    // What still comes is read and dropped; what still fails is nobody's business.
    payload.on("error", () => {});
    done(error, bytes);
  };
  const take = (part: Buffer) => {
    came.add(part);
    if (came.length > limit) {
      settle(bodyTooLarge(limit));
      return;
    }
    if (came.length <= uncounted) return;
    unfinished ??= unfinishedBeside(payload);
    unfinished?.keeps(payload, came.length);
  };
  const end = () => settle(null, came.take());
  const fail = (cause: Error) => settle(bodyIncomplete(cause));
  payload.on("data", take).on("end", end).on("error", fail);
}
