/** The database of a gateway that runs, for those who administer it. */
import type { AdminState } from "../../core/admin/state.js";
import { LintelError } from "../../core/errors.js";
import type { TimeZone } from "../../core/time-zone.js";
import { DatabaseAway, type Sql } from "./sql.js";
import { DatabaseTokens } from "./tokens.js";
import { DatabaseUsage } from "./usage.js";

/**
 * Its tokens and its usage.
 * @param zone by whose clocks hours, days and months of usage are told
 * @param remembered what this gateway remembers of tokens; absent: nothing
 * @param own what this gateway has on its way to the database; absent: nothing
 */
export function administered(
  sql: Sql,
  zone: TimeZone | undefined,
  remembered: { follow(): Promise<void> } | undefined,
  own: { flush(): Promise<void> } | undefined,
): AdminState {
  const tokens = new DatabaseTokens(sql);
  const usage = new DatabaseUsage(sql, zone);
  /** A change, which is known here before it is said to be done. */
  const changed = async <T>(change: Promise<T>): Promise<T> => {
    try {
      return await told(change);
    } finally {
      // A change that failed may have been made: the connection may have broken after it.
      await remembered?.follow();
    }
  };
  return {
    tokens: {
      list: (page) => told(tokens.list(page)),
      get: (which) => told(tokens.get(which)),
      // Nobody has presented it yet.
      create: (wanted) => told(tokens.create(wanted)),
      update: (which, change) => changed(tokens.update(which, change)),
      rotate: (which, rotation) => changed(tokens.rotate(which, rotation)),
      revoke: (which) => changed(tokens.revoke(which)),
    },
    usage: {
      async totals(by, filter, page) {
        await own?.flush();
        return told(usage.totals(by, filter, page));
      },
    },
  };
}

/** What was asked, or in the core's terms that nobody can be. */
async function told<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (cause) {
    if (!(cause instanceof DatabaseAway)) throw cause;
    throw new LintelError("unavailable", "the database of tokens and usage is away", { cause });
  }
}
