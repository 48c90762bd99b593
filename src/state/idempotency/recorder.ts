/** Writes an answer to Redis or Valkey while its call runs. */
import type { Recorder } from "../../core/idempotency/store.js";
import type { RedisConnection } from "../redis/connection.js";
import { runScript } from "../redis/script.js";
import { writeScript } from "./scripts.js";

/** Where an answer stands, and whose it is. */
export interface Place {
  readonly connection: RedisConnection;
  /** The hash, and the list of parts. */
  readonly keys: readonly string[];
  readonly owner: string;
}

/** Milliseconds and bytes. */
export interface RecorderOptions {
  readonly ttlMs: number;
  readonly maxAnswerBytes: number;
  readonly leaseMs: number;
}

/**
 * Parts are sent together, those that come while others are on their way. What
 * can't be written is given up: it is as if nobody had asked, once the store has
 * heard of that, or the lease has ended.
 */
export class RedisRecorder implements Recorder {
  readonly #place: Place;
  readonly #options: RecorderOptions;
  readonly #ended: () => void;
  readonly #givenUp: () => void;
  readonly #renewal: NodeJS.Timeout;
  #parts: Uint8Array[] = [];
  #bytes = 0;
  /** What the call has become, once the parts are written. */
  #state: "" | "done" | "large" | "failed" = "";
  /** What the store knows of that. */
  #written: "" | "done" | "large" | "failed" = "";
  #sending: Promise<void> | undefined;
  #recording = true;
  #wanted = false;

  /**
   * @param ended called when nothing more is to be written
   * @param givenUp called when something could not be written
   */
  constructor(place: Place, options: RecorderOptions, ended: () => void, givenUp: () => void) {
    this.#place = place;
    this.#options = options;
    this.#ended = ended;
    this.#givenUp = givenUp;
    this.#renewal = setInterval(() => this.#send(true), options.leaseMs / 3).unref();
  }

  get recording(): boolean {
    return this.#recording && this.#state === "";
  }

  append(part: Uint8Array): void {
    if (!this.recording) return;
    this.#bytes += part.byteLength;
    if (this.#bytes > this.#options.maxAnswerBytes) {
      this.#state = "large";
      this.#parts = [];
    } else {
      this.#parts.push(part);
    }
    this.#send();
  }

  finish(): void {
    this.#state ||= "done";
    this.#end();
  }

  forget(): void {
    this.#state = "failed";
    this.#parts = [];
    this.#end();
  }

  async wanted(): Promise<boolean> {
    await this.#sending;
    this.#send(true);
    await this.#sending;
    return this.#wanted;
  }

  /** Resolves when what is to be written is written, or given up. */
  async close(): Promise<void> {
    clearInterval(this.#renewal);
    await this.#sending;
  }

  #end(): void {
    clearInterval(this.#renewal);
    this.#send();
    if (this.#sending) void this.#sending.finally(this.#ended);
    else this.#ended();
  }

  /** Writes what there is to write. What comes while something is on its way goes along with the next. */
  #send(anyway = false): void {
    if (!this.#recording || this.#sending || !(anyway || this.#pending)) return;
    this.#sending = this.#write(anyway)
      .catch(() => {
        this.#recording = false;
        this.#parts = [];
        this.#givenUp();
      })
      .finally(() => {
        this.#sending = undefined;
        this.#send();
      });
  }

  get #pending(): boolean {
    return this.#parts.length > 0 || this.#state !== this.#written;
  }

  async #write(anyway: boolean): Promise<void> {
    const { connection, keys, owner } = this.#place;
    const { ttlMs, leaseMs } = this.#options;
    for (let first = anyway; first || this.#pending; first = false) {
      const parts = this.#parts.splice(0).map((p) => Buffer.from(p.buffer, p.byteOffset, p.length));
      const state = this.#state;
      const life = state === "" ? leaseMs : ttlMs;
      const bytes = parts.reduce((sum, part) => sum + part.length, 0);
      const kept = await connection.ask(
        (client) => runScript(client, writeScript, keys, [owner, state, life, ...parts]),
        bytes,
        keys[0],
      );
      if (kept === 0) throw new Error("somebody else runs this call by now");
      this.#wanted = kept === 2;
      this.#written = state;
    }
  }
}
