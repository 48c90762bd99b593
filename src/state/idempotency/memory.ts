/** A store of first answers in this process. */
import type { CallSignal } from "../../core/cancellation.js";
import {
  FirstFailed,
  type IdempotencyStore,
  type Opened,
  type Question,
  type Recorder,
} from "../../core/idempotency/store.js";
import { type Answer, Answers, type IdempotencyOptions } from "./answers.js";

/** Keeps answers as long as its process runs; empty at first. */
export class MemoryIdempotency implements IdempotencyStore {
  readonly #answers: Answers;

  constructor(options: IdempotencyOptions) {
    this.#answers = new Answers(options);
  }

  open(question: Question): Opened {
    const known = this.recall(question);
    if (known) return known;
    const answer = this.#answers.begin(question);
    return { as: "first", recorder: new MemoryRecorder(this.#answers, answer) };
  }

  /** What `open` answers where the name is known; `undefined` where it is not, and nothing is begun. */
  recall({ name, print, signal }: Question): Opened | undefined {
    const known = this.#answers.find(name);
    if (!known) return undefined;
    if (known.print !== print) return { as: "other" };
    if (known.state === "too large") return { as: "too large" };
    return { as: "again", parts: follow(known, signal) };
  }

  async close(): Promise<void> {
    this.#answers.clear();
  }
}

class MemoryRecorder implements Recorder {
  readonly #answers: Answers;
  readonly #answer: Answer;

  constructor(answers: Answers, answer: Answer) {
    this.#answers = answers;
    this.#answer = answer;
  }

  get recording(): boolean {
    return this.#answer.state === "running";
  }

  append(part: Uint8Array): void {
    this.#answers.append(this.#answer, part);
  }

  finish(): void {
    this.#answers.finish(this.#answer);
  }

  forget(): void {
    this.#answers.forget(this.#answer);
  }

  wanted(): boolean {
    return this.#answer.followers.size > 0;
  }
}

async function* follow(answer: Answer, signal: CallSignal): AsyncGenerator<Uint8Array> {
  let wake = () => {};
  const follower = () => wake();
  answer.followers.add(follower);
  signal.addEventListener("abort", follower, { once: true });
  try {
    // What was evicted meanwhile is still here for who began to read it.
    const { parts } = answer;
    for (let at = 0; ; ) {
      signal.throwIfAborted();
      const part = parts[at];
      if (part) {
        at++;
        yield part;
      } else if (answer.state === "done") {
        return;
      } else if (answer.state !== "running") {
        throw new FirstFailed(`the first call ended: ${answer.state}`);
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    answer.followers.delete(follower);
  }
}
