/** Keeps a child process alive: starts it, and again when it dies, with growing pauses. */
import { setTimeout } from "node:timers/promises";
import type { EngineExits } from "../../core/backend.js";
import { LintelError } from "../../core/errors.js";
import { type Logger, reasonOf } from "../../core/log.js";
import { type RestartTimes, restartPause, restartTimes } from "../../restart-pause.js";
import { Child, type ChildSettings } from "./child.js";
import { Quarantine } from "./quarantine.js";

/** Times of the supervisor, milliseconds. */
export interface Times extends RestartTimes {
  /** How long calls wait for a restart instead of being refused. */
  readonly patience: number;
  /** How long the child may take to leave. */
  readonly grace: number;
}

/** Values of the product. */
export const timeDefaults: Times = {
  ...restartTimes,
  patience: 2000,
  grace: 10_000,
};

/** Crashes in a row after which the models count as failed; it is still tried, with the longest pause. */
const tooMany = 5;

/** What the supervisor's owner does at each turn. */
export interface Events<T> {
  /** The child listens. What this resolves with is what `up` resolves with. */
  started(address: string): Promise<T>;
  /** The child is gone; `connection` is what `started` made of it. */
  ended(connection: T | undefined): Promise<void>;
  /** The child died too often. */
  failed(detail: string): void;
}

interface Attempt<T> {
  readonly promise: Promise<T>;
  resolve(connection: T): void;
  reject(error: LintelError): void;
}

/** A child process that is there as much as it can be. */
export class Supervisor<T> {
  readonly #settings: ChildSettings;
  readonly #events: Events<T>;
  readonly #times: Times;
  readonly #log: Logger;
  readonly #quarantine: Quarantine;
  #loop: Promise<void> | undefined;
  #child: Child | undefined;
  #attempt = newAttempt<T>();
  /** What `started` made of the child that runs, once it answers. */
  #connection: T | undefined;
  #crashes = 0;
  readonly #exits = { hung: 0, ended: 0 };
  /** When the child is started next, by `performance.now`. */
  #due = 0;
  readonly #closing = new AbortController();
  #closed = false;

  constructor(settings: ChildSettings, events: Events<T>, log: Logger, times: Times) {
    this.#settings = settings;
    this.#events = events;
    this.#log = log;
    this.#quarantine = new Quarantine(log);
    this.#times = times;
  }

  /** Starts the child, if that was not done yet. */
  start(): void {
    if (!this.#closed) this.#loop ??= this.#run();
  }

  /** The process that runs now, if any. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** How often a child ended though nobody asked it to. */
  get exits(): EngineExits {
    return this.#exits;
  }

  /**
   * The child that answers; waits for one that is being started.
   * @throws LintelError `unavailable` if that fails, or won't be tried soon
   */
  up(): Promise<T> {
    this.start();
    const soon = this.#due - performance.now() <= this.#times.patience;
    const worthIt = this.#connection !== undefined || (soon && this.#crashes < tooMany);
    if (this.#closed || !worthIt) return Promise.reject(this.unavailable());
    return this.#attempt.promise;
  }

  /** Whether the child behind a connection is gone, or ends before patience does. */
  async gone(connection: T): Promise<boolean> {
    if (this.#connection !== connection) return true;
    const timer = new AbortController();
    const tooLong = setTimeout(this.#times.patience, false, { signal: timer.signal });
    const ended = this.#child?.ended.then(() => true) ?? true;
    const gone = await Promise.race([ended, tooLong]);
    tooLong.catch(() => {});
    timer.abort();
    return gone;
  }

  /** The error for calls that the child's end cut off, or that come while it is down. */
  unavailable(cause?: unknown): LintelError {
    if (this.#closed) {
      return new LintelError("shutting_down", "the embedded models are being unloaded");
    }
    return new LintelError(
      "unavailable",
      "the process that runs the embedded models ended unexpectedly; it is being started again",
      { retryAfter: Math.max(1, Math.ceil((this.#due - performance.now()) / 1000)), cause },
    );
  }

  /** Ends the child. Resolves when it is gone. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#closing.abort();
    await this.#child?.stop(this.#times.grace);
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      const ending = await this.#life();
      if (this.#closed) break;
      const pause = Math.ceil(this.#due - performance.now());
      this.#log.error(
        { node: "embedded", ending, crashes: this.#crashes, pause },
        "the process of the embedded models ended",
      );
      if (this.#crashes >= tooMany) {
        this.#events.failed(
          `its process ended ${this.#crashes} times in a row; the last time it ${ending}`,
        );
      }
      await setTimeout(pause, undefined, { signal: this.#closing.signal }).catch(() => {});
    }
    this.#attempt.reject(this.unavailable());
  }

  /** One child, from its start to its end. */
  async #life(): Promise<string> {
    const attempt = this.#attempt;
    const begin = performance.now();
    const child = new Child(this.#settings, this.#quarantine, this.#log);
    this.#child = child;
    let unusable: string | undefined;
    const use = async (address: string): Promise<T | undefined> => {
      try {
        const connection = await this.#events.started(address);
        if (this.#child === child) this.#connection = connection;
        attempt.resolve(connection);
        return connection;
      } catch (error) {
        // It would live on, and calls would wait for it.
        unusable = `can't be called: ${reasonOf(error)}`;
        attempt.reject(this.unavailable(error));
        void child.stop(this.#times.grace);
        return undefined;
      }
    };
    const starting = child.listening.then(use, () => undefined);

    const ending = await child.ended;
    this.#child = undefined;
    this.#connection = undefined;
    if (!this.#closed) this.#exits[child.hung ? "hung" : "ended"]++;
    // One that was ended because it can't be called says nothing of its models.
    if (!this.#closed && unusable === undefined) this.#quarantine.died(ending);
    if (performance.now() - begin >= this.#times.healthyAfter) this.#crashes = 0;
    this.#due = performance.now() + restartPause(this.#crashes++, this.#times);
    this.#attempt = newAttempt();
    // For those who still wait for this child; nothing happens if it did answer.
    attempt.reject(this.unavailable());
    await this.#events.ended(await starting);
    return unusable ?? ending;
  }
}

function newAttempt<T>(): Attempt<T> {
  let resolve: Attempt<T>["resolve"] = () => {};
  let reject: Attempt<T>["reject"] = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  // Nobody may be waiting for it.
  promise.catch(() => {});
  return { promise, resolve, reject };
}
