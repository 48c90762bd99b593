/** Tokens in a database: what the gateway asks, and what the command line does to them. */
import { randomBytes } from "node:crypto";
import type { StoredToken, TokenChanges, TokenStore } from "../../core/callers/store.js";
import type { CallerLimits } from "../../core/limits/settings.js";
import { createToken, hashToken } from "../../core/tokens.js";
import { type Row, rowsOf, type Sql, type Statement, ValueRefused } from "./sql.js";

/** What a token is made with. */
export interface NewToken {
  readonly name: string;
  readonly models?: readonly string[] | undefined;
  readonly limits?: CallerLimits | undefined;
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number | undefined;
}

/** The tokens of a database. */
export class DatabaseTokens implements TokenStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async find(hashes: readonly string[]): Promise<readonly StoredToken[]> {
    if (hashes.length === 0) return [];
    const list = hashes.map(() => "?").join(", ");
    const text = `SELECT * FROM lintel_tokens WHERE hash IN (${list}) OR previous_hash IN (${list})`;
    return (await rowsOf(this.#sql, text, [...hashes, ...hashes])).map(tokenOf);
  }

  async changes(since?: number): Promise<TokenChanges> {
    const counter = { text: "SELECT value FROM lintel_counters WHERE name = 'tokens'" };
    const changed = "SELECT * FROM lintel_tokens WHERE version > ?";
    // The version first: a change in between is then told twice and never missed.
    const [[row] = [], rows = []] = await this.#sql.run(
      since === undefined ? [counter] : [counter, { text: changed, values: [since] }],
    );
    return { version: Number(row?.value), tokens: rows.map(tokenOf) };
  }

  /** All tokens, oldest first; those that were revoked too. */
  async list(): Promise<readonly StoredToken[]> {
    const text = "SELECT * FROM lintel_tokens ORDER BY created_at, id";
    return (await rowsOf(this.#sql, text)).map(tokenOf);
  }

  /**
   * Issues a token.
   * @returns the token itself, which is not kept anywhere; `undefined` if the name is taken
   */
  async create(wanted: NewToken): Promise<{ secret: string; id: string } | undefined> {
    const secret = createToken();
    const id = `tok_${randomBytes(9).toString("base64url")}`;
    const { name, models, limits, expiresAt } = wanted;
    const insert = `INSERT INTO lintel_tokens
      (id, name, hash, models, limits, created_at, expires_at, version)
      VALUES (?, ?, ?, ?, ?, ?, ?, ${newVersion})`;
    const values = [
      id,
      name,
      hashToken(secret),
      models ? JSON.stringify(models) : null,
      limits ? JSON.stringify(limits, writeInfinity) : null,
      Date.now(),
      expiresAt ?? null,
    ];
    try {
      await this.#change({ text: insert, values });
    } catch (error) {
      if (error instanceof ValueRefused && (await this.#live(name))) return undefined;
      throw error;
    }
    return { secret, id };
  }

  /**
   * Ends a token at once.
   * @param which its name or its id
   * @returns the token, or `undefined` if there is none that counts
   */
  async revoke(which: string): Promise<StoredToken | undefined> {
    const text = `UPDATE lintel_tokens SET revoked_at = ?, version = ${newVersion}
      WHERE (name = ? OR id = ?) AND revoked_at IS NULL RETURNING *`;
    const [row] = await this.#change({ text, values: [Date.now(), which, which] });
    return row && tokenOf(row);
  }

  /**
   * Gives a token's holder a new one; name, models and limits stay.
   * @param which its name or its id
   * @param graceMs how long the old one counts besides
   * @returns the new token itself, or `undefined` if there is none that counts
   */
  async rotate(
    which: string,
    graceMs: number,
  ): Promise<{ secret: string; token: StoredToken } | undefined> {
    const secret = createToken();
    const text = `UPDATE lintel_tokens
      SET previous_hash = hash, previous_until = ?, hash = ?, version = ${newVersion}
      WHERE (name = ? OR id = ?) AND revoked_at IS NULL RETURNING *`;
    const values = [Date.now() + graceMs, hashToken(secret), which, which];
    const [row] = await this.#change({ text, values });
    return row && { secret, token: tokenOf(row) };
  }

  async #live(name: string): Promise<boolean> {
    const text = "SELECT id FROM lintel_tokens WHERE name = ? AND revoked_at IS NULL";
    return (await rowsOf(this.#sql, text, [name])).length > 0;
  }

  /** The counter's row is locked until the end, so versions become visible in their order. */
  async #change(statement: Statement): Promise<readonly Row[]> {
    const next = { text: "UPDATE lintel_counters SET value = value + 1 WHERE name = 'tokens'" };
    const [, rows = []] = await this.#sql.run([next, statement]);
    return rows;
  }
}

const newVersion = "(SELECT value FROM lintel_counters WHERE name = 'tokens')";

function tokenOf(row: Row): StoredToken {
  const time = (value: Row[string] | undefined) => (value === null ? undefined : Number(value));
  const until = time(row.previous_until);
  return {
    id: String(row.id),
    name: String(row.name),
    hash: String(row.hash),
    previous:
      row.previous_hash === null
        ? undefined
        : { hash: String(row.previous_hash), until: until ?? 0 },
    models: row.models === null ? undefined : JSON.parse(String(row.models)),
    limits: row.limits === null ? undefined : JSON.parse(String(row.limits), readInfinity),
    createdAt: Number(row.created_at),
    expiresAt: time(row.expires_at),
    revokedAt: time(row.revoked_at),
  };
}

/** JSON has no infinity; as a limit it is written in words. */
const unlimited = "unlimited";
const writeInfinity = (_key: string, value: unknown) =>
  value === Number.POSITIVE_INFINITY ? unlimited : value;
const readInfinity = (_key: string, value: unknown) =>
  value === unlimited ? Number.POSITIVE_INFINITY : value;
