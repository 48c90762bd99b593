/** First answers in this process. */
import type { CallSignal } from "../../core/cancellation.js";
import type { IdempotencyStore, Opened, Question, Recorder } from "../../core/idempotency/store.js";
import { FirstFailed } from "../../core/idempotency/store.js";

/** How much is kept, and for how long. */
export interface IdempotencyOptions {
  /** Milliseconds. */
  readonly ttlMs: number;
  /** Most bytes of one answer. */
  readonly maxAnswerBytes: number;
  /** Most bytes of all answers together; the oldest go first. */
  readonly maxBytes: number;
  /** Milliseconds since the epoch. Default: the system's. */
  readonly clock?: () => number;
}

/** What an answer costs besides its parts, about. */
const overhead = 300;

interface Entry {
  readonly name: string;
  readonly print: string;
  state: "running" | "done" | "too large" | "failed";
  parts: Uint8Array[];
  bytes: number;
  expiresAt: number;
  /** Those who asked again, and wait. */
  readonly followers: Set<() => void>;
  following: number;
}

/** A store in this process. */
export interface MemoryIdempotency extends IdempotencyStore {
  open(question: Question): Opened;
  /** What `open` answers where the name is known; `undefined` where it is not, and nothing is begun. */
  recall(question: Question): Opened | undefined;
}

/** Makes an empty store. */
export function memoryIdempotency(options: IdempotencyOptions): MemoryIdempotency {
  const { ttlMs, maxAnswerBytes, maxBytes, clock = Date.now } = options;
  // In the order of their ends: the oldest first.
  const entries = new Map<string, Entry>();
  let bytes = 0;

  const drop = (entry: Entry) => {
    if (entries.get(entry.name) === entry) entries.delete(entry.name);
    bytes -= entry.bytes;
    entry.bytes = 0;
  };
  const wake = (entry: Entry) => {
    for (const follower of entry.followers) follower();
  };
  /** Also makes room, as far as what is complete can make it. */
  const expire = () => {
    const now = clock();
    for (const entry of entries.values()) {
      // Its call still runs, also if the answer is not kept.
      if (entry.expiresAt === Number.POSITIVE_INFINITY) continue;
      if (entry.expiresAt > now && bytes <= maxBytes) return;
      drop(entry);
    }
  };

  const recorderOf = (entry: Entry): Recorder => ({
    append(part) {
      if (entry.state !== "running") return;
      const more = part.byteLength;
      bytes += more;
      entry.bytes += more;
      entry.parts.push(part);
      expire();
      if (entry.bytes > maxAnswerBytes || bytes > maxBytes) {
        entry.state = "too large";
        entry.parts = [];
        bytes -= entry.bytes - overhead;
        entry.bytes = overhead;
      }
      wake(entry);
    },
    finish() {
      if (entry.state === "running") entry.state = "done";
      entry.expiresAt = clock() + ttlMs;
      if (entries.delete(entry.name)) entries.set(entry.name, entry);
      expire();
      wake(entry);
    },
    forget() {
      entry.state = "failed";
      drop(entry);
      wake(entry);
    },
    wanted: () => entry.following > 0,
    get recording() {
      return entry.state === "running";
    },
  });

  const recall = ({ name, print, signal }: Question): Opened | undefined => {
    expire();
    const known = entries.get(name);
    if (!known) return undefined;
    if (known.print !== print) return { as: "other" };
    if (known.state === "too large") return { as: "too large" };
    return { as: "again", parts: follow(known, signal) };
  };

  return {
    recall,
    open(question) {
      const known = recall(question);
      if (known) return known;
      const { name, print } = question;
      const entry: Entry = {
        name,
        print,
        state: "running",
        parts: [],
        bytes: overhead,
        expiresAt: Number.POSITIVE_INFINITY,
        followers: new Set(),
        following: 0,
      };
      bytes += overhead;
      entries.set(name, entry);
      return { as: "first", recorder: recorderOf(entry) };
    },
    async close() {
      entries.clear();
      bytes = 0;
    },
  };
}

async function* follow(entry: Entry, signal: CallSignal): AsyncGenerator<Uint8Array> {
  entry.following++;
  let wake = () => {};
  const follower = () => wake();
  entry.followers.add(follower);
  signal.addEventListener("abort", follower, { once: true });
  try {
    // What was evicted meanwhile is still here for who began to read it.
    const { parts } = entry;
    for (let at = 0; ; ) {
      signal.throwIfAborted();
      const part = parts[at];
      if (part) {
        at++;
        yield part;
      } else if (entry.state === "done") {
        return;
      } else if (entry.state !== "running") {
        throw new FirstFailed(`the first call ended: ${entry.state}`);
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    entry.following--;
    entry.followers.delete(follower);
    signal.removeEventListener("abort", follower);
  }
}
