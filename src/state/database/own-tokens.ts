/** Tokens that callers made for themselves, in a database. */
import type { NewOwnToken, NotMade, OwnTokens } from "../../core/callers/own.js";
import type { IssuedSecret } from "../../core/callers/registry.js";
import type { StoredToken } from "../../core/callers/store.js";
import { type Logger, reasonOf, silent } from "../../core/log.js";
import { createToken, hashToken } from "../../core/tokens.js";
import { rowsOf, type Sql, ValueRefused } from "./sql.js";
import { changeTokens, newId, newVersion, tokenOf } from "./token-rows.js";

/** Within which it is counted how many one owner makes, milliseconds. */
const dayMs = 86_400_000;

/**
 * How long a token stays in the database after its end, whether its owner ended it earlier, milliseconds. From its end on
 * every gateway refuses it by that, also one that hears of nothing; before, it has to hear of what its owner did. The
 * rest is for clocks that differ, and for administrators who look.
 */
const keptMs = 30 * dayMs;

/** Most that are deleted at once, so that nobody waits for it. */
const mostDeleted = 1000;

/** Those of a database, beside the ones that were issued. */
export class DatabaseOwnTokens implements OwnTokens {
  readonly #sql: Sql;
  readonly #log: Logger;
  #undeletable = false;

  constructor(sql: Sql, log: Logger = silent) {
    this.#sql = sql;
    this.#log = log;
  }

  async create({
    owner,
    name,
    expiresAt,
    max,
    maxPerDay,
  }: NewOwnToken): Promise<IssuedSecret | NotMade> {
    const secret = createToken();
    const now = Date.now();
    const { caller, issuer, claims } = owner;
    const forget = {
      text: `UPDATE lintel_tokens SET revoked_at = expires_at, version = ${newVersion}
        WHERE owner = ? AND revoked_at IS NULL AND expires_at <= ?`,
      values: [caller, now],
    };
    // A gateway of a version that knows no owners may use no model for it.
    const insert = {
      text: `INSERT INTO lintel_tokens (id, name, hash, models, owner, owner_issuer, owner_claims,
          created_at, expires_at, version)
        SELECT ?, ?, ?, '[]', CAST(? AS TEXT), ?, ?, CAST(? AS BIGINT), CAST(? AS BIGINT), ${newVersion}
        WHERE (SELECT COUNT(*) FROM lintel_tokens WHERE ${live}) < CAST(? AS BIGINT)
          AND (SELECT COUNT(*) FROM lintel_tokens WHERE ${made}) < CAST(? AS BIGINT) RETURNING *`,
      values: [
        ...[newId(), name, hashToken(secret), caller, issuer, JSON.stringify(claims)],
        ...[now, expiresAt, caller, max, caller, now - dayMs, maxPerDay],
      ],
    };
    // None where there were fewer.
    const first = {
      text: `SELECT created_at FROM lintel_tokens WHERE ${made}
        ORDER BY created_at DESC LIMIT 1 OFFSET ${Math.trunc(maxPerDay) - 1}`,
      values: [caller, now - dayMs],
    };
    try {
      const [, [row] = [], [oldest] = []] = await changeTokens(this.#sql, forget, insert, first);
      if (!row) return oldest ? { nextAt: Number(oldest.created_at) + dayMs } : "most";
      void this.#deleteOld(now);
      return { secret, token: tokenOf(row) };
    } catch (error) {
      if (error instanceof ValueRefused && (await this.#named(caller, name))) return "taken";
      throw error;
    }
  }

  async list(owner: string): Promise<readonly StoredToken[]> {
    const text = `SELECT * FROM lintel_tokens WHERE ${live} AND expires_at > ?
      ORDER BY created_at, id`;
    return (await rowsOf(this.#sql, text, [owner, Date.now()])).map(tokenOf);
  }

  async revoke(owner: string, which: string): Promise<StoredToken | undefined> {
    const now = Date.now();
    const text = `UPDATE lintel_tokens SET revoked_at = ?, version = ${newVersion}
      WHERE ${live} AND expires_at > ? AND (name = ? OR id = ?) RETURNING *`;
    const values = [now, owner, now, which, which];
    const [[row] = []] = await changeTokens(this.#sql, { text, values });
    return row && tokenOf(row);
  }

  /**
   * Deletes those that ended long ago, whoever made them. Where one is made the clock is about right: its owner's JWT
   * counts by it. Apart from that, since a user of PostgreSQL who may delete nothing makes tokens all the same.
   */
  async #deleteOld(now: number): Promise<void> {
    const text = `DELETE FROM lintel_tokens WHERE id IN (SELECT id FROM lintel_tokens
      WHERE owner IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ${mostDeleted})`;
    try {
      await rowsOf(this.#sql, text, [now - keptMs]);
      this.#undeletable = false;
    } catch (error) {
      if (!this.#undeletable) {
        this.#log.warn({ error: reasonOf(error) }, "tokens of callers that ended can't be deleted");
      }
      this.#undeletable = true;
    }
  }

  async #named(owner: string, name: string): Promise<boolean> {
    const text = `SELECT id FROM lintel_tokens WHERE ${live} AND name = ?`;
    return (await rowsOf(this.#sql, text, [owner, name])).length > 0;
  }
}

const live = "owner = ? AND revoked_at IS NULL";

/** Since a time, whatever became of them. */
const made = "owner = ? AND created_at > ?";
