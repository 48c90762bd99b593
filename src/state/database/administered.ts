/** The database of a gateway that runs, for those who administer it, and for callers who make tokens. */
import type { AdminState } from "../../core/admin/state.js";
import type { OwnTokens } from "../../core/callers/own.js";
import { LintelError } from "../../core/errors.js";
import type { Logger } from "../../core/log.js";
import type { TimeZone } from "../../core/time-zone.js";
import { DatabaseOwnTokens } from "./own-tokens.js";
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
  remembered: Remembered | undefined,
  own: { flush(): Promise<void> } | undefined,
): AdminState {
  const tokens = new DatabaseTokens(sql);
  const usage = new DatabaseUsage(sql, zone);
  const changed = <T>(change: Promise<T>) => known(change, remembered);
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

/**
 * The tokens that callers made for themselves.
 * @param remembered what this gateway remembers of tokens
 */
export function ownTokens(sql: Sql, remembered: Remembered, log: Logger): OwnTokens {
  const tokens = new DatabaseOwnTokens(sql, log);
  return {
    create: (wanted) => told(tokens.create(wanted)),
    list: (owner) => told(tokens.list(owner)),
    revoke: (owner, which) => known(tokens.revoke(owner, which), remembered),
  };
}

/** What a gateway remembers of tokens. */
interface Remembered {
  follow(): Promise<void>;
}

/** A change, which is known here before it is said to be done. */
async function known<T>(change: Promise<T>, remembered: Remembered | undefined): Promise<T> {
  try {
    return await told(change);
  } finally {
    // A change that failed may have been made: the connection may have broken after it.
    await remembered?.follow();
  }
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
