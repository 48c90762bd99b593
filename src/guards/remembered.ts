/** What a moderation endpoint said of things, for a while: conversations come again whole with each of their turns. */
import { createHash } from "node:crypto";
import { Recent } from "../core/recent.js";
import type { ModerationResult } from "../safety/moderations.js";

/** Most things of which it is known. */
const mostKnown = 10_000;

interface Known {
  readonly result: ModerationResult;
  /** Milliseconds, by the same clock. */
  readonly until: number;
}

const unflagged: ModerationResult = { flagged: false, categories: [] };

/** What a thing is: an image is not what its address says as a text. */
type Kind = "text" | "image";

/** Knows things by their digests: what they say is not kept. */
export class Remembered {
  readonly #known = new Recent<string, Known>(mostKnown);
  readonly #forMs: number;
  readonly #now: () => number;

  /**
   * @param forMs how long it holds, milliseconds
   * @param now milliseconds
   */
  constructor(forMs: number, now: () => number = () => performance.now()) {
    this.#forMs = forMs;
    this.#now = now;
  }

  /** What was said of a thing; `undefined`: nothing, or too long ago. */
  of(kind: Kind, thing: string): ModerationResult | undefined {
    const known = this.#known.get(digest(kind, thing));
    return known && this.#now() < known.until ? known.result : undefined;
  }

  add(kind: Kind, thing: string, result: ModerationResult): void {
    const { flagged, categories } = result;
    const kept = flagged || categories.length > 0 ? result : unflagged;
    this.#known.set(digest(kind, thing), { result: kept, until: this.#now() + this.#forMs });
  }
}

const digest = (kind: Kind, thing: string): string =>
  createHash("sha256").update(kind).update(thing).digest("base64");
