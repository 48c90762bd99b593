/** A checker in a thread of its own: decoding and looking block. */

import type { Worker } from "node:worker_threads";
import { silenceEngine } from "../backends/onnx/telemetry.js";
import { retryMs } from "../backends/resident.js";
import type { CallSignal } from "../core/cancellation.js";
import { LintelError, shuttingDown } from "../core/errors.js";
import { type Logger, Refusal } from "../core/log.js";
import { startThread } from "../thread.js";
import type { OwnedChecker } from "./open.js";
import type { Order, Report, ThreadSettings } from "./protocol.js";

interface Waiting {
  resolve(harmful: boolean): void;
  reject(error: LintelError): void;
}

/**
 * Looks at images one after the other. A thread that died is started again by the
 * next image; one that could not load its model, by an image ten seconds later.
 */
export class ThreadChecker implements OwnedChecker {
  readonly #settings: ThreadSettings;
  readonly #log: Logger;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #loaded = false;
  /** Why the model could not be loaded, the last time. */
  #failure: { readonly problem: string; readonly at: number } | undefined;
  #next = 0;
  #closed = false;

  /**
   * Loads the model in the background.
   * @param log is told at once if that fails
   */
  constructor(settings: ThreadSettings, log: Logger) {
    this.#settings = settings;
    this.#log = log;
    this.#start();
  }

  isHarmful(png: Uint8Array, signal: CallSignal): Promise<boolean> {
    if (this.#closed) {
      return Promise.reject(shuttingDown());
    }
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#failure && performance.now() - this.#failure.at < retryMs) {
      return Promise.reject(failure(this.#failure.problem));
    }
    const worker = this.#worker ?? this.#start();
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(id);
        worker.postMessage({ type: "drop", id } satisfies Order);
        reject(signal.reason);
      };
      signal.addEventListener("abort", leave, { once: true });
      const done = () => signal.removeEventListener("abort", leave);
      this.#waiting.set(id, {
        resolve: (harmful) => {
          done();
          resolve(harmful);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      });
      worker.postMessage({ type: "check", id, png } satisfies Order);
    });
  }

  /** Resolves when the thread is gone: after the image that it looks at, or the load that runs. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#fail("the safety checker is shut down");
    const worker = this.#worker;
    if (!worker) return;
    // Nothing native runs in nsfwjs: it can be cut short, and its load may hang in the network.
    if (this.#settings.kind === "nsfwjs") {
      await worker.terminate();
      return;
    }
    const gone = new Promise((resolve) => worker.once("exit", resolve));
    worker.postMessage({ type: "close" } satisfies Order);
    await gone;
  }

  #start(): Worker {
    silenceEngine();
    const start = { name: "lintel-safety", data: this.#settings };
    const worker = startThread("./worker", import.meta.url, start);
    let fault = new Error("the safety checker's thread ended");
    worker.on("message", (report: Report) => {
      if (report.type === "unloadable") fault = new Refusal(report.problem);
      else this.#take(report);
    });
    worker.on("error", (error) => {
      fault = error;
    });
    worker.on("exit", () => this.#ended(fault));
    this.#worker = worker;
    this.#loaded = false;
    return worker;
  }

  #take(report: Exclude<Report, { type: "unloadable" }>): void {
    if (report.type === "loaded") {
      this.#loaded = true;
      return;
    }
    const waiting = this.#waiting.get(report.id);
    this.#waiting.delete(report.id);
    if (report.type === "verdict") waiting?.resolve(report.harmful);
    else waiting?.reject(failure(report.problem));
  }

  #ended(fault: Error): void {
    this.#worker = undefined;
    if (!this.#loaded) this.#failure = { problem: fault.message, at: performance.now() };
    this.#fail(fault.message);
    if (this.#closed) return;
    const what = this.#loaded ? "the safety checker ended" : "the safety checker can't be loaded";
    this.#log.error({ err: fault }, what);
  }

  #fail(problem: string): void {
    for (const waiting of this.#waiting.values()) waiting.reject(failure(problem));
    this.#waiting.clear();
  }
}

/** The operator finds the problem in the log, the caller does not: it may name files. */
const failure = (problem: string) =>
  new LintelError("unavailable", "the safety check can't be done now", {
    cause: new Error(problem),
  });
