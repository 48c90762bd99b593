/** A thread that SQLite runs in, as those see it who ask it something. */
import { dirname } from "node:path";
import type { Worker } from "node:worker_threads";
import { startThread } from "../../thread.js";
import { makeFolder } from "../directory.js";
import { DatabaseAway, type Row, ValueRefused } from "./sql.js";
import type { Answer, Question, ThreadData } from "./sqlite-worker.js";

interface Waiting {
  resolve(rows: readonly (readonly Row[])[]): void;
  reject(error: Error): void;
}

/** One of them: it begins with the first question, anew if it ended, and answers them in their order. */
export class SqliteThread {
  readonly #data: ThreadData;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #next = 0;
  #closed = false;

  constructor(data: ThreadData) {
    this.#data = data;
  }

  /** @throws DatabaseAway or ValueRefused, as `Sql.run` does */
  ask(what: Omit<Question, "id">): Promise<readonly (readonly Row[])[]> {
    if (this.#closed) return Promise.reject(new DatabaseAway("the database is closed"));
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      try {
        this.#worker ??= this.#begin();
        this.#waiting.set(id, { resolve, reject });
        this.#worker.postMessage({ id, ...what });
      } catch (cause) {
        this.#waiting.delete(id);
        reject(new DatabaseAway("the database can't be opened", { cause }));
      }
    });
  }

  /** Ends it, once what was asked is answered. */
  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    if (!worker) return;
    const gone = new Promise((resolve) => worker.once("exit", resolve));
    worker.postMessage({ id: this.#next++ });
    await gone;
  }

  #begin(): Worker {
    const { path, reader } = this.#data;
    makeFolder(dirname(path));
    const name = reader ? "lintel-sqlite-reader" : "lintel-sqlite";
    const worker = startThread("./sqlite-worker", import.meta.url, { name, data: this.#data });
    worker.on("message", (answer: Answer) => this.#settle(answer));
    let fault: unknown;
    worker.once("error", (error) => {
      fault = error;
    });
    worker.once("exit", () => {
      this.#worker = undefined;
      const all = [...this.#waiting.values()];
      this.#waiting.clear();
      for (const { reject } of all) {
        reject(new DatabaseAway("the database's thread ended", { cause: fault }));
      }
    });
    return worker;
  }

  #settle(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ("rows" in answer) {
      waiting?.resolve(answer.rows);
    } else {
      const { message, refused } = answer.failure;
      waiting?.reject(refused ? new ValueRefused(message) : new DatabaseAway(message));
    }
  }
}
