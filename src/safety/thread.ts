/** A checker in a thread of its own: decoding and looking block. */

import { Worker } from "node:worker_threads";
import { silenceEngine } from "../backends/onnx/telemetry.js";
import type { CallSignal } from "../core/cancellation.js";
import { LintelError } from "../core/errors.js";
import type { OwnedChecker } from "./open.js";
import type { Question, ThreadSettings, Verdict } from "./protocol.js";

interface Waiting {
  resolve(harmful: boolean): void;
  reject(error: LintelError): void;
}

/**
 * Sources are TypeScript only in tests, where Node must be told how to read
 * them; the package has JavaScript beside this file.
 */
const fromSources = import.meta.url.endsWith(".ts");
const entry = new URL(fromSources ? "./worker.ts" : "./worker.js", import.meta.url);
const loader = new URL("../../scripts/typescript-loader.js", import.meta.url);

/** Looks at images one after the other. A thread that died is started again by the next image. */
export class ThreadChecker implements OwnedChecker {
  readonly #settings: ThreadSettings;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #next = 0;
  #closed = false;

  /** Loads the model in the background. */
  constructor(settings: ThreadSettings) {
    this.#settings = settings;
    this.#start();
  }

  isHarmful(png: Uint8Array, signal: CallSignal): Promise<boolean> {
    if (this.#closed) {
      return Promise.reject(new LintelError("shutting_down", "this gateway is shutting down"));
    }
    const worker = this.#worker ?? this.#start();
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(id);
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
      worker.postMessage({ id, png } satisfies Question);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#fail("the safety checker is shut down");
    await this.#worker?.terminate();
  }

  #start(): Worker {
    silenceEngine();
    const worker = new Worker(entry, {
      workerData: this.#settings,
      name: "lintel-safety",
      ...(fromSources && { execArgv: ["--import", loader.href] }),
    });
    worker.unref();
    worker.on("message", (verdict: Verdict) => this.#take(verdict));
    worker.on("error", () => {});
    worker.on("exit", () => {
      this.#worker = undefined;
      this.#fail("the safety checker's thread ended");
    });
    this.#worker = worker;
    return worker;
  }

  #take(verdict: Verdict): void {
    const { id = -1 } = verdict;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if ("harmful" in verdict) waiting?.resolve(verdict.harmful);
    else if (waiting) waiting.reject(failure(verdict.problem));
    else if (id === -1) this.#fail(verdict.problem);
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
