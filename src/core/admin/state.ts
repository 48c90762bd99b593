/** What administration works on. */
import type { TokenRegistry } from "../callers/registry.js";
import type { UsageSums } from "../usage/sums.js";

/**
 * The tokens and the usage of a gateway's database. Everything throws LintelError
 * `unavailable` while it is away.
 */
export interface AdminState {
  /** What this gateway remembers of tokens goes by a change once that is done. */
  readonly tokens: TokenRegistry;
  /** What this gateway has on its way to the database is in the sums. */
  readonly usage: UsageSums;
}
