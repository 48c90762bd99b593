/** First answers in this process: what is kept of them, and who makes room. */
import type { Question } from "../../core/idempotency/store.js";
import { type Holder, Holders } from "./holders.js";

/** How much is kept, and for how long. */
export interface IdempotencyOptions {
  /** Milliseconds. */
  readonly ttlMs: number;
  /** Most bytes of one answer. */
  readonly maxAnswerBytes: number;
  /** Most bytes of all answers together; the oldest of the caller who holds most go first. */
  readonly maxBytes: number;
  /** Milliseconds since the epoch. Default: the system's. */
  readonly clock?: () => number;
}

/** What an answer costs besides its parts, about. */
const overhead = 300;

/** An answer, whole or as far as it has come. */
export interface Answer {
  readonly name: string;
  readonly print: string;
  readonly holder: Holder<Answer>;
  state: "running" | "done" | "too large" | "failed";
  parts: Uint8Array[];
  bytes: number;
  /** How long it is kept once it is whole, milliseconds. */
  readonly ttlMs: number;
  expiresAt: number;
  /** Those who asked again, and wait. */
  readonly followers: Set<() => void>;
}

/** All of them. */
export class Answers {
  readonly #options: IdempotencyOptions;
  readonly #clock: () => number;
  readonly #answers = new Map<string, Answer>();
  /** In the order of their ends: the oldest first. */
  readonly #ended = new Set<Answer>();
  // What could make room is what they hold: the overhead of an answer stays while its call runs.
  readonly #holders = new Holders<Answer>();
  #bytes = 0;

  constructor(options: IdempotencyOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
  }

  /** The answer of this name, if there is one. */
  find(name: string): Answer | undefined {
    this.#expire();
    const answer = this.#answers.get(name);
    if (!answer || answer.expiresAt > this.#clock()) return answer;
    this.#drop(answer);
    return undefined;
  }

  /** A call runs from now on; there is no answer of its name. */
  begin({ name, caller, print, ttlMs = Number.POSITIVE_INFINITY }: Question): Answer {
    const answer: Answer = {
      name,
      print,
      holder: this.#holders.enter(caller),
      state: "running",
      parts: [],
      bytes: overhead,
      ttlMs: Math.min(ttlMs, this.#options.ttlMs),
      expiresAt: Number.POSITIVE_INFINITY,
      followers: new Set(),
    };
    this.#bytes += overhead;
    this.#answers.set(name, answer);
    return answer;
  }

  /** Adds a part to one that runs. */
  append(answer: Answer, part: Uint8Array): void {
    if (answer.state !== "running") return;
    const more = part.byteLength;
    this.#bytes += more;
    answer.bytes += more;
    answer.parts.push(part);
    answer.holder.growing.add(answer);
    this.#holders.weigh(answer.holder, more);
    if (answer.bytes > this.#options.maxAnswerBytes) this.#giveUp(answer);
    else this.#makeRoom(answer);
    wake(answer);
  }

  /** The call ended with a whole answer. */
  finish(answer: Answer): void {
    if (answer.state === "running") answer.state = "done";
    answer.expiresAt = this.#clock() + answer.ttlMs;
    const { holder } = answer;
    holder.growing.delete(answer);
    holder.finished.add(answer);
    this.#holders.weigh(holder, overhead);
    this.#ended.add(answer);
    this.#makeRoom(answer);
    wake(answer);
  }

  /** The call ended without one. */
  forget(answer: Answer): void {
    answer.state = "failed";
    this.#drop(answer);
    wake(answer);
  }

  /** Keeps none. */
  clear(): void {
    for (const answer of this.#answers.values()) this.#drop(answer);
  }

  #drop(answer: Answer): void {
    this.#answers.delete(answer.name);
    const { holder } = answer;
    const held = this.#ended.delete(answer) ? answer.bytes : answer.bytes - overhead;
    holder.finished.delete(answer);
    holder.growing.delete(answer);
    this.#holders.weigh(holder, -held);
    this.#holders.leave(holder);
    this.#bytes -= answer.bytes;
    answer.bytes = 0;
  }

  /** Those whose time is shorter than that of others wait behind these for who asks for them. */
  #expire(): void {
    const now = this.#clock();
    for (const answer of this.#ended) {
      if (answer.expiresAt > now) return;
      this.#drop(answer);
    }
  }

  /** Keeps no more of an answer that still runs. */
  #giveUp(answer: Answer): void {
    const held = answer.bytes - overhead;
    answer.state = "too large";
    answer.parts = [];
    answer.bytes = overhead;
    answer.holder.growing.delete(answer);
    this.#holders.weigh(answer.holder, -held);
    this.#bytes -= held;
    wake(answer);
  }

  /** Makes room at the expense of who holds most: a whole answer, else one that still runs. */
  #makeRoom(asking: Answer): void {
    this.#expire();
    while (this.#bytes > this.#options.maxBytes) {
      const holder = this.#holders.heaviest(asking.holder);
      const [oldest] = holder?.finished ?? [];
      const [running] = holder?.growing ?? [];
      if (oldest) this.#drop(oldest);
      else if (running) this.#giveUp(holder?.growing.has(asking) ? asking : running);
      else return;
    }
  }
}

function wake(answer: Answer): void {
  for (const follower of answer.followers) follower();
}
