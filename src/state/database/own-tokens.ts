/** Tokens that callers made for themselves, in a database. */
import type { NewOwnToken, NotMade, OwnTokens } from "../../core/callers/own.js";
import type { IssuedSecret } from "../../core/callers/registry.js";
import type { StoredToken } from "../../core/callers/store.js";
import { createToken, hashToken } from "../../core/tokens.js";
import { rowsOf, type Sql, ValueRefused } from "./sql.js";
import { changeTokens, newId, newVersion, tokenOf } from "./token-rows.js";

/** Those of a database, beside the ones that were issued. */
export class DatabaseOwnTokens implements OwnTokens {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async create({ owner, name, expiresAt, max }: NewOwnToken): Promise<IssuedSecret | NotMade> {
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
        WHERE (SELECT COUNT(*) FROM lintel_tokens WHERE ${live}) < CAST(? AS BIGINT) RETURNING *`,
      values: [
        ...[newId(), name, hashToken(secret), caller, issuer, JSON.stringify(claims)],
        ...[now, expiresAt, caller, max],
      ],
    };
    try {
      const [, [row] = []] = await changeTokens(this.#sql, forget, insert);
      return row ? { secret, token: tokenOf(row) } : "most";
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

  async #named(owner: string, name: string): Promise<boolean> {
    const text = `SELECT id FROM lintel_tokens WHERE ${live} AND name = ?`;
    return (await rowsOf(this.#sql, text, [owner, name])).length > 0;
  }
}

const live = "owner = ? AND revoked_at IS NULL";
