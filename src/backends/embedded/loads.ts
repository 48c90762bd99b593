/** The child's side of the quarantine: says what it loads, and leaves out what it is told to. */
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { LintelError } from "../../core/errors.js";
import { partsOf } from "../llama/memory.js";
import { lookAt } from "../local.js";
import type { LoadWatch } from "../resident.js";
import type { HeldBack, LoadReport, Orders } from "./mark.js";

/** Loads of a child. */
export class ReportedLoads implements LoadWatch {
  readonly #send: (report: LoadReport) => Promise<void>;
  readonly #oneByOne: boolean;
  readonly #held: ReadonlyMap<string, HeldBack>;
  readonly #begin = performance.now();
  #turn: Promise<unknown> = Promise.resolve();

  /** @param send to the process that started this one; resolves once it is on its way */
  constructor({ oneByOne, heldBack }: Orders, send: (report: LoadReport) => Promise<void>) {
    this.#send = send;
    this.#oneByOne = oneByOne;
    this.#held = new Map(heldBack.map((one) => [one.model, one]));
  }

  check(model: string, path: string): void {
    const held = this.#held.get(model);
    if (!held) return;
    const left = held.ms - (performance.now() - this.#begin);
    if (left <= 0 || held.stamp !== stampOf(path)) return;
    const minutes = Math.ceil(left / 60_000);
    throw new LintelError(
      "model_not_loaded",
      `${model}: loading it ended the process of the models, which ${held.ending}; it is tried again once its files change, or in ${minutes} minutes`,
    );
  }

  load<T>(model: string, path: string, load: () => Promise<T>): Promise<T> {
    if (!this.#oneByOne) return this.#load(model, path, load);
    const loaded = this.#turn.then(() => this.#load(model, path, load));
    this.#turn = loaded.catch(() => {});
    return loaded;
  }

  async #load<T>(model: string, path: string, load: () => Promise<T>): Promise<T> {
    await this.#send({ lintel: "loading", model, stamp: stampOf(path) });
    try {
      return await load();
    } finally {
      void this.#send({ lintel: "loaded", model });
    }
  }
}

/** Tells the process that started this one. */
export const sendToParent = (report: LoadReport): Promise<void> =>
  new Promise((resolve) => {
    // Without a channel this process is about to leave.
    if (process.connected) process.send?.(report, () => resolve());
    else resolve();
  });

/** Changes with the files at a path: a model's file, with its further parts, or its folder. */
function stampOf(path: string): string {
  const hash = createHash("sha256");
  for (const file of filesAt(path)) {
    const { size, mtimeMs, ino } = lookAt(file) ?? {};
    hash.update(`${file} ${size} ${mtimeMs} ${ino}\n`);
  }
  return hash.digest("base64url");
}

function filesAt(path: string): string[] {
  if (!lookAt(path)?.isDirectory()) return partsOf(path);
  try {
    const names = readdirSync(path, { recursive: true }) as string[];
    return names.sort().map((name) => join(path, name));
  } catch {
    return [path];
  }
}
