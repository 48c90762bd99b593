/** Blurring in a thread of its own: to decode a large picture and encode it anew takes a second. */
import type { Worker } from "node:worker_threads";
import { unlessAborted } from "../core/abort.js";
import type { CallSignal } from "../core/cancellation.js";
import { LintelError, shuttingDown } from "../core/errors.js";
import { startThread } from "../thread.js";
import { broken } from "./png.js";

/** What the thread says at its end. */
export type Blurred =
  | { readonly png: Uint8Array; readonly problem?: undefined }
  /** The picture can't be decoded. */
  | { readonly png?: undefined; readonly problem: string };

/** Blurs pictures one after the other. The thread goes with its picture, and gives all memory back. */
export class Blurring {
  #last: Promise<unknown> = Promise.resolve();
  #worker: Worker | undefined;
  #closed = false;

  /**
   * The picture made unrecognisable, in the same size.
   * @param png one that was sanitized
   * @throws LintelError `upstream_failed` if it can't be decoded, `shutting_down` once closed;
   *   the signal's reason
   */
  blur(png: Uint8Array, signal: CallSignal): Promise<Uint8Array> {
    const blurred = this.#last.then(() => this.#blurNow(png, signal));
    this.#last = blurred.catch(() => {});
    return unlessAborted(blurred, signal);
  }

  /** Ends the picture that is being blurred; those that wait fail, too. Resolves when the thread is gone. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#worker?.terminate();
  }

  #blurNow(png: Uint8Array, signal: CallSignal): Promise<Uint8Array> {
    if (signal.aborted) throw signal.reason;
    if (this.#closed) throw shuttingDown();
    return new Promise((resolve, reject) => {
      const worker = startThread("./blur-worker", import.meta.url, {
        name: "lintel-blur",
        data: png,
      });
      this.#worker = worker;
      const leave = () => void worker.terminate();
      signal.addEventListener("abort", leave, { once: true });
      let said: Blurred | undefined;
      let fault: unknown = new Error("the thread that blurs ended");
      worker.on("message", (message: Blurred) => {
        said = message;
      });
      worker.on("error", (error) => {
        fault = error;
      });
      worker.on("exit", () => {
        this.#worker = undefined;
        signal.removeEventListener("abort", leave);
        if (said?.png) resolve(said.png);
        else if (said) reject(broken(said.problem));
        else reject(this.#closed ? shuttingDown() : failure(fault));
      });
    });
  }
}

const failure = (cause: unknown) =>
  new LintelError("internal", "an image could not be blurred", { cause });
