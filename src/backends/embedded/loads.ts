/**
 * The child's side of the quarantine, and what the watchdog is told of: says what it loads, leaves
 * out what it is told to, and knows what its engines are at.
 */
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { LintelError } from "../../core/errors.js";
import { EngineProgress, type EngineReport } from "../engine-progress.js";
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
  readonly #engines = new Set<EngineProgress>();
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

  progress(model: string): EngineProgress {
    const progress = new EngineProgress(`running ${model}`);
    this.#engines.add(progress);
    return progress;
  }

  /** What engines are in the middle of. */
  work(): readonly EngineReport[] {
    return [...this.#engines].flatMap((one) => one.report() ?? []);
  }

  load<T>(model: string, path: string, load: (moved: () => void) => Promise<T>): Promise<T> {
    if (!this.#oneByOne) return this.#load(model, path, load);
    const loaded = this.#turn.then(() => this.#load(model, path, load));
    this.#turn = loaded.catch(() => {});
    return loaded;
  }

  async #load<T>(model: string, path: string, load: (moved: () => void) => Promise<T>): Promise<T> {
    await this.#send({ lintel: "loading", model, stamp: stampOf(path) });
    const progress = new EngineProgress(`loading ${model}`);
    progress.begin();
    this.#engines.add(progress);
    try {
      return await load(() => progress.moved());
    } finally {
      this.#engines.delete(progress);
      void this.#send({ lintel: "loaded", model });
    }
  }
}

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
