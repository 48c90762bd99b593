/** Waiting that ends: when a signal aborts, or after a while. */
import { type CallSignal, Cancellation } from "./cancellation.js";
import { LintelError } from "./errors.js";

/** The promise, or the reason of the abort if that comes first. */
export function unlessAborted<T>(promise: Promise<T>, signal: CallSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    // Also where nobody waits any more: a rejection that nobody handles ends the process.
    void promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    if (signal.aborted) abort();
  });
}

/** A signal that aborts with `timeout` after some milliseconds; nothing is kept alive by it. */
export function timeLimit(ms: number): CallSignal {
  const limit = new Cancellation();
  const late = () => limit.abort(new LintelError("timeout", "the model server took too long"));
  setTimeout(late, ms).unref();
  return limit;
}

/**
 * The promise, or an error where it takes longer.
 * @param ms milliseconds
 */
export function inTime<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
    void promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/**
 * Resolves when the work is over, or goes on for too long; rejects as the work does by then.
 * @param ms milliseconds
 */
export function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    void work.then(() => resolve(), reject).finally(() => clearTimeout(timer));
  });
}
