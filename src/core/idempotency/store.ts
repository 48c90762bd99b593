/** Where first answers are kept, for those who ask again. */
import type { CallSignal } from "../cancellation.js";

/** What a store is asked with. */
export interface Question {
  /** Names the caller and the key; nothing of either can be read from it. */
  readonly name: string;
  /** Whose it is: answers of one caller make room for each other first. */
  readonly caller: string;
  /** Names the request: two requests with the same print are the same. */
  readonly print: string;
  /** Longest that its answer is worth being kept, milliseconds; absent: as long as the store keeps any. */
  readonly ttlMs?: number | undefined;
  /** Aborted when nobody waits for an answer any more. */
  readonly signal: CallSignal;
}

/** Writes down the answer of a call, while it runs. Never throws, never waits. */
export interface Recorder {
  /** Adds a part. What becomes too large to be kept is dropped, and stays known as that. */
  append(part: Uint8Array): void;
  /** The answer is complete. */
  finish(): void;
  /** There is no answer: whoever asks next is the first again. */
  forget(): void;
  /** Whether somebody who asked again waits for this answer. */
  wanted(): boolean | Promise<boolean>;
  /** Whether what is appended is still being kept. */
  readonly recording: boolean;
}

/** What a store answers. */
export type Opened =
  /** Nobody asked before. The call has to run. */
  | { readonly as: "first"; readonly recorder: Recorder }
  /**
   * The parts of the first answer, those that are still to come included. Throws
   * `FirstFailed` where it turns out that there is no answer.
   */
  | { readonly as: "again"; readonly parts: AsyncIterable<Uint8Array> }
  /** The name was used for another request. */
  | { readonly as: "other" }
  /** There was an answer, and it was too large to be kept. */
  | { readonly as: "too large" };

/** The first call ended without an answer, or was lost with its process. */
export class FirstFailed extends Error {
  override readonly name = "FirstFailed";
}

/** Keeps answers. Safe to be used by several replicas at once where the store is shared. */
export interface IdempotencyStore {
  /** @throws LintelError `unavailable` if the store is away and the operator closed on it */
  open(question: Question): Opened | Promise<Opened>;
  close(): Promise<void>;
}
