/** One document being read, in a process of its own. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { DocumentText } from "../core/documents.js";
import { LintelError } from "../core/errors.js";
import { codeOf } from "../thread.js";
import type { Order, Report } from "./protocol.js";

/** What V8 ends a process by where the next object has no room, and Linux the largest one. */
const memorySignals: readonly unknown[] = ["SIGABRT", "SIGTRAP", "SIGILL", "SIGKILL"];
/** The same on Windows. */
const memoryCode = 134;

/** A process, from its start to its end. */
export class Reading {
  /** Settles when the process is gone. */
  readonly text: Promise<DocumentText>;
  readonly #process: ChildProcess;
  #ended: unknown;

  /** @param timeout milliseconds */
  constructor(order: Order, timeout: number) {
    this.#process = fork(fileURLToPath(codeOf("./read-process", import.meta.url)), [], {
      // What it reads may be hostile: it gets no secrets.
      env: {},
      execArgv: [],
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const late = setTimeout(
      () => this.end(refused(`reading the PDF took more than ${timeout / 1000} s`)),
      timeout,
    );
    this.text = this.#live(order).finally(() => clearTimeout(late));
  }

  /** Ends it; `text` rejects with the reason. */
  end(reason: unknown): void {
    this.#ended ??= reason;
    this.#process.kill("SIGKILL");
  }

  #live(order: Order): Promise<DocumentText> {
    return new Promise((resolve, reject) => {
      let report: Report | undefined;
      let fault: unknown;
      this.#process.on("message", (message: Report) => {
        report ??= message;
      });
      this.#process.on("error", (error) => {
        fault = error;
      });
      // Behind the last of what it said.
      this.#process.on("close", (code, signal) => {
        if (this.#ended) return reject(this.#ended);
        const exhausted = memorySignals.includes(signal) || code === memoryCode;
        report ??= exhausted
          ? { type: "memory" }
          : { type: "failed", fault: `the process that reads ended with ${signal ?? code}` };
        if (report.type === "read") {
          const { type: _, ...text } = report;
          resolve(text);
        } else reject(errorOf(report, order, fault));
      });
      // Without a descriptor for it there is no channel: the end tells why.
      if (!this.#process.connected) return;
      this.#process.send(order, (error) => {
        fault ??= error ?? undefined;
      });
    });
  }
}

const refused = (message: string) => new LintelError("invalid_value", message);

function errorOf(report: Exclude<Report, { type: "read" }>, { memory }: Order, fault: unknown) {
  if (report.type === "refused") return refused(report.problem);
  if (report.type === "memory")
    return refused(`reading the PDF takes more than ${memory} MiB of memory`);
  const cause = fault ?? new Error(report.fault);
  return new LintelError("internal", "a PDF could not be read", { cause });
}
