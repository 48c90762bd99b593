/** An answer of a model server as it is read. */
import type { Waiter } from "../../core/steps.js";
import type { Headers } from "./retry-after.js";

/** Who waits for bytes of a body, as `read` has them. */
export type Reader = Waiter<readonly Buffer[] | undefined>;

/** The head of an answer, and the way to its body. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Headers;
  /**
   * All the bytes that came since the last call, at least some; `undefined` at the end.
   * @throws LintelError `timeout`, `upstream_failed`; the signal's reason
   */
  read(): Promise<readonly Buffer[] | undefined>;
  /** Tells the same; maybe at once. */
  readTo(reader: Reader): void;
  /**
   * The whole body as text.
   * @param limit most bytes
   * @throws LintelError as `read`, and `upstream_failed` for a larger body
   */
  text(limit: number): Promise<string>;
  /** The whole body, as `text`. */
  bytes(limit: number): Promise<Buffer>;
  /** Nobody reads on, but the rest is about to come: the connection stays usable if it does. */
  drain(): void;
  /** Nobody reads on: the connection is closed, unless the answer has ended. */
  abort(): void;
}
