/** SQLite in a file, run in a thread of its own. */
import { dirname } from "node:path";
import type { Worker } from "node:worker_threads";
import { startThread } from "../../thread.js";
import { makeFolder } from "../directory.js";
import {
  DatabaseAway,
  type Insertion,
  type Row,
  type Sql,
  type Statement,
  ValueRefused,
} from "./sql.js";
import type { Answer, Question } from "./sqlite-worker.js";

interface Waiting {
  resolve(rows: readonly (readonly Row[])[]): void;
  reject(error: Error): void;
}

/** A database in a file. The thread begins with the first question, anew if it ended. */
export class SqliteSql implements Sql {
  readonly kind = "sqlite";
  readonly #path: string;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #next = 0;
  #closed = false;

  /** @param path of the file; its folder is made if it is not there */
  constructor(path: string) {
    this.#path = path;
  }

  run(statements: readonly Statement[]): Promise<readonly (readonly Row[])[]> {
    return this.#ask({ statements });
  }

  async insert({ table, columns, lines }: Insertion): Promise<void> {
    // One text costs next to nothing on its way to the thread, thousands of values do.
    await this.#ask({ insertion: { table, columns, lines: lines.join("\n") } });
  }

  #ask(what: Omit<Question, "id">): Promise<readonly (readonly Row[])[]> {
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

  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    if (!worker) return;
    const gone = new Promise((resolve) => worker.once("exit", resolve));
    worker.postMessage({ id: this.#next++ });
    await gone;
  }

  #begin(): Worker {
    makeFolder(dirname(this.#path));
    const start = { name: "lintel-sqlite", data: { path: this.#path } };
    const worker = startThread("./sqlite-worker", import.meta.url, start);
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
