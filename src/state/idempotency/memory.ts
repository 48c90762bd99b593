/** First answers in this process. */
import type { CallSignal } from "../../core/cancellation.js";
import type { IdempotencyStore, Opened, Question, Recorder } from "../../core/idempotency/store.js";
import { FirstFailed } from "../../core/idempotency/store.js";
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

interface Entry {
  readonly name: string;
  readonly print: string;
  readonly holder: Holder<Entry>;
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
  const entries = new Map<string, Entry>();
  /** In the order of their ends: the oldest first. */
  const ended = new Set<Entry>();
  // What could make room is what they hold: the overhead of an entry stays while its call runs.
  const holders = new Holders<Entry>();
  let bytes = 0;

  const drop = (entry: Entry) => {
    if (entries.get(entry.name) === entry) entries.delete(entry.name);
    const { holder } = entry;
    const held = ended.delete(entry) ? entry.bytes : entry.bytes - overhead;
    holder.finished.delete(entry);
    holder.growing.delete(entry);
    holders.weigh(holder, -held);
    holders.leave(holder);
    bytes -= entry.bytes;
    entry.bytes = 0;
  };
  const wake = (entry: Entry) => {
    for (const follower of entry.followers) follower();
  };
  const expire = () => {
    const now = clock();
    for (const entry of ended) {
      if (entry.expiresAt > now) return;
      drop(entry);
    }
  };
  /** Keeps no more of an answer that still runs. */
  const giveUp = (entry: Entry) => {
    const held = entry.bytes - overhead;
    entry.state = "too large";
    entry.parts = [];
    entry.bytes = overhead;
    entry.holder.growing.delete(entry);
    holders.weigh(entry.holder, -held);
    bytes -= held;
    wake(entry);
  };
  /** Makes room at the expense of who holds most: a complete answer, else one that still runs. */
  const makeRoom = (asking: Entry) => {
    expire();
    while (bytes > maxBytes) {
      const holder = holders.heaviest(asking.holder);
      const [oldest] = holder?.finished ?? [];
      const [running] = holder?.growing ?? [];
      if (oldest) drop(oldest);
      else if (running) giveUp(holder?.growing.has(asking) ? asking : running);
      else return;
    }
  };

  const recorderOf = (entry: Entry): Recorder => ({
    append(part) {
      if (entry.state !== "running") return;
      const more = part.byteLength;
      bytes += more;
      entry.bytes += more;
      entry.parts.push(part);
      entry.holder.growing.add(entry);
      holders.weigh(entry.holder, more);
      if (entry.bytes > maxAnswerBytes) giveUp(entry);
      else makeRoom(entry);
      wake(entry);
    },
    finish() {
      if (entry.state === "running") entry.state = "done";
      entry.expiresAt = clock() + ttlMs;
      const { holder } = entry;
      holder.growing.delete(entry);
      holder.finished.add(entry);
      holders.weigh(holder, overhead);
      ended.add(entry);
      makeRoom(entry);
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
      const { name, caller, print } = question;
      const entry: Entry = {
        name,
        print,
        holder: holders.enter(caller),
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
      for (const entry of entries.values()) drop(entry);
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
