/** What a model server says when it refuses a request. */
import type { Call } from "../../core/call.js";
import type { CallSignal } from "../../core/cancellation.js";
import type { LintelError } from "../../core/errors.js";
import type { BackendMethod } from "../../core/methods.js";
import { Collected } from "../../core/pieces.js";
import type { Answer } from "./answer.js";
import { loggedOf } from "./error-body.js";
import { failureOf as usualFailure } from "./failure.js";
import { piecesOf } from "./large.js";

/** Most bytes that are read of an answer that reports an error, and how long they are waited for, milliseconds. */
const errorLimit = 1024 * 1024;
const errorMs = 2000;

/** A request that was refused. */
export interface Refused {
  readonly status: number;
  readonly body: string;
  /** The error for it, which goes into the log; called once, where nothing else helps. */
  failure(): LintelError;
}

/** Whether an answer's status is not 2xx. */
export const refuses = ({ status }: Answer): boolean => status < 200 || status >= 300;

/**
 * Reads an answer that refuses.
 * @param failureOf how errors are read. Default: as those of any model server
 * @throws the signal's reason
 */
export async function readRefused(
  answer: Answer,
  { id, backend, log, signal }: Call<BackendMethod>,
  failureOf = usualFailure,
): Promise<Refused> {
  const { status, headers } = answer;
  const body = await errorBodyOf(answer, signal);
  return {
    status,
    body,
    failure() {
      log.warn({ id, backend, status, said: loggedOf(body) }, "the model server refused");
      return failureOf(status, body, headers);
    },
  };
}

/**
 * What comes of the body of an answer that reports an error. Its status counts, whatever
 * becomes of the rest: it may break off, hang, be endless, or packed and no text at all.
 * @throws the signal's reason
 */
export async function errorBodyOf(answer: Answer, signal: CallSignal): Promise<string> {
  const came = await whatComes(piecesOf(answer), () => answer.abort());
  if (signal.aborted) throw signal.reason;
  return came.toString("utf8");
}

/**
 * The same of a body in pieces.
 * @param abort ends them where they are too many or too late
 */
export async function whatComes(
  pieces: AsyncIterable<Uint8Array>,
  abort: () => void,
): Promise<Buffer> {
  const came = new Collected();
  const timer = setTimeout(abort, errorMs);
  try {
    for await (const part of pieces) {
      came.add(part);
      if (came.length > errorLimit) abort();
    }
  } catch {
    // What came is all there is.
  } finally {
    clearTimeout(timer);
  }
  return came.take();
}
