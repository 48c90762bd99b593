/** What mirrors were asked and answered, for whoever looks at a running gateway. */
import type { AttemptRecord, Attributes } from "../core/call-attributes.js";
import type { Mirrored, NotMirrored, WhyNot } from "../core/mirrored.js";
import { Latency, type Percentiles } from "../core/routing/latency.js";
import { countedModel } from "./tally.js";
import type { Watcher } from "./watchers.js";

/** Most mirrors that are told apart; what further ones do is not told. */
const mostMirrors = 1000;

/** One mirror of one model, as plain data. Counts since the start; times of the last 128 calls in milliseconds. */
export interface MirrorTally {
  /** The model whose calls it gets, as callers' calls count. */
  readonly mirrored: string;
  readonly backend: string;
  /** Name by which the backend knows it; with its `*` where it is none that the backend has. */
  readonly model: string;
  readonly running: number;
  /** Those that are over. */
  readonly calls: number;
  readonly failed: number;
  /** Calls that it was to get, and did not, by why. */
  readonly passedOver: Readonly<Partial<Record<WhyNot, number>>>;
  /** Answers that came to their end, and the completion tokens of these. */
  readonly answers: number;
  readonly answerTokens: number;
  readonly images: number;
  /** To the first message of streamed answers. */
  readonly firstMs?: Percentiles;
  /** To the end of answers. */
  readonly totalMs?: Percentiles;
}

type Names = Pick<MirrorTally, "mirrored" | "backend" | "model">;

class Entry {
  readonly names: Names;
  running = 0;
  calls = 0;
  failed = 0;
  readonly passedOver: Partial<Record<WhyNot, number>> = {};
  answers = 0;
  answerTokens = 0;
  images = 0;
  readonly first = new Latency();
  readonly total = new Latency();

  constructor(names: Names) {
    this.names = names;
  }
}

/** Counts mirrored calls by mirror. */
export class MirrorTallies implements Watcher {
  readonly #mirrors = new Map<string, Entry>();

  end(): void {}

  asked({ backend, model }: AttemptRecord, of: Readonly<Attributes>): void {
    const entry = this.#entry(countedModel(of), backend, model);
    if (entry) entry.running++;
  }

  answered({ method, of, record, attributes }: Mirrored): void {
    const entry = this.#entry(countedModel(of), record.backend, record.model);
    if (!entry) return;
    const { completionTokens = 0, images = 0 } = attributes;
    entry.running--;
    entry.calls++;
    entry.images += images;
    if (record.outcome !== "ok") {
      entry.failed++;
      return;
    }
    entry.answers++;
    entry.answerTokens += completionTokens;
    entry.total.add(record.durationMs);
    if (method === "chat" && record.firstMs !== undefined) entry.first.add(record.firstMs);
  }

  passedOver({ of, backend, model, why }: NotMirrored): void {
    const entry = this.#entry(countedModel(of), backend, model);
    if (entry) entry.passedOver[why] = (entry.passedOver[why] ?? 0) + 1;
  }

  /** Every mirror that a call was to go to, by the model it mirrors. */
  snapshot(): MirrorTally[] {
    return [...this.#mirrors]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { names, first, total, passedOver, ...counts }]) => {
        const firstMs = first.percentiles();
        const totalMs = total.percentiles();
        return {
          ...names,
          ...counts,
          passedOver: { ...passedOver },
          ...(firstMs && { firstMs }),
          ...(totalMs && { totalMs }),
        };
      });
  }

  #entry(mirrored: string, backend: string, model: string): Entry | undefined {
    const names = { mirrored, backend, model };
    const key = mirrorKey(names);
    const known = this.#mirrors.get(key);
    if (known || this.#mirrors.size >= mostMirrors) return known;
    const made = new Entry(names);
    this.#mirrors.set(key, made);
    return made;
  }
}

/** Tells mirrors apart. */
export const mirrorKey = ({ mirrored, backend, model }: Names): string =>
  JSON.stringify([mirrored, backend, model]);
