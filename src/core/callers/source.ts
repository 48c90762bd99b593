/** Where callers are looked up by what they present. */
import type { Caller } from "../call.js";
import type { TokenOwner } from "./own.js";

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
  /**
   * What the owner of a token may do now, for whom it vouched when that was made.
   * @returns `undefined` if it is not of this source, or nobody there makes tokens any more
   * @throws LintelError `invalid_token` if the owner is not let in any more
   */
  vouch?(owner: TokenOwner): Caller | undefined;
}
