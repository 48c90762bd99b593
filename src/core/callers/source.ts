/** Where callers are looked up by what they present. */
import type { Caller } from "../call.js";

/** One way to know callers: tokens in the configuration, in a database, of an issuer. */
export interface CallerSource {
  /**
   * Finds whose token it is. An answer that is at hand comes at once and not as
   * a promise, so that most calls wait for nothing.
   * @returns `undefined` if the token is not of this source
   * @throws LintelError `invalid_token` if it is, and does not count (any more);
   *   `unavailable` if that can't be found out now
   */
  find(token: string): Caller | undefined | Promise<Caller | undefined>;
}
