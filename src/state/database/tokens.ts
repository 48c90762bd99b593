/** Tokens in a database: what the gateway asks, and what the command line does to them. */
import { changedLimits } from "../../core/callers/changed-limits.js";
import type {
  IssuedSecret,
  NewToken,
  Rotated,
  Rotation,
  TokenChange,
  TokenPage,
  TokenRegistry,
} from "../../core/callers/registry.js";
import type { StoredToken, TokenChanges, TokenStore } from "../../core/callers/store.js";
import { createToken, hashToken } from "../../core/tokens.js";
import { rowsOf, type Sql, type Statement, ValueRefused } from "./sql.js";
import { changeTokens, newId, newVersion, tokenOf, written } from "./token-rows.js";

/** The tokens of a database. */
export class DatabaseTokens implements TokenStore, TokenRegistry {
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

  async list({ after, liveOnly, owner, limit }: TokenPage = {}): Promise<readonly StoredToken[]> {
    const conditions = [
      ...(liveOnly ? ["revoked_at IS NULL"] : []),
      ...(owner !== undefined ? ["owner = ?"] : []),
      ...(after ? ["(created_at > ? OR (created_at = ? AND id > ?))"] : []),
    ];
    const text = `SELECT * FROM lintel_tokens
      ${conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : ""}
      ORDER BY created_at, id ${limit === undefined ? "" : `LIMIT ${Math.trunc(limit)}`}`;
    const values = [
      ...(owner !== undefined ? [owner] : []),
      ...(after ? [after.createdAt, after.createdAt, after.id] : []),
    ];
    return (await rowsOf(this.#sql, text, values)).map(tokenOf);
  }

  async get(which: string): Promise<StoredToken | undefined> {
    // No name looks like an id.
    const text = `SELECT * FROM lintel_tokens WHERE id = ? OR (${issued} AND name = ? AND revoked_at IS NULL)`;
    const [row] = await rowsOf(this.#sql, text, [which, which]);
    return row && tokenOf(row);
  }

  async create(wanted: NewToken): Promise<IssuedSecret | undefined> {
    const secret = createToken();
    const id = newId();
    const { name, models, from, limits, team, expiresAt } = wanted;
    const insert = `INSERT INTO lintel_tokens
      (id, name, hash, models, from_addresses, limits, team, created_at, expires_at, version)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ${newVersion}) RETURNING *`;
    const values = [
      id,
      name,
      hashToken(secret),
      ...written({ models, from, limits, team }),
      Date.now(),
      expiresAt ?? null,
    ];
    try {
      const [[row] = []] = await this.#change({ text: insert, values });
      return row && { secret, token: tokenOf(row) };
    } catch (error) {
      if (error instanceof ValueRefused && (await this.#live(name))) return undefined;
      throw error;
    }
  }

  async revoke(which: string): Promise<StoredToken | undefined> {
    const text = `UPDATE lintel_tokens SET revoked_at = ?, version = ${newVersion}
      WHERE (id = ? OR (${issued} AND name = ?)) AND revoked_at IS NULL RETURNING *`;
    const [[row] = []] = await this.#change({ text, values: [Date.now(), which, which] });
    return row && tokenOf(row);
  }

  async rotate(
    which: string,
    { graceMs, expiresAt, force }: Rotation,
  ): Promise<Rotated | undefined> {
    const live = `SELECT * FROM lintel_tokens WHERE ${issued} AND (name = ? OR id = ?) AND revoked_at IS NULL`;
    const [known] = await rowsOf(this.#sql, live, [which, which]);
    if (!known) return undefined;
    const { id, hash } = tokenOf(known);
    const secret = createToken();
    const now = Date.now();
    const renews = expiresAt !== undefined;
    // A token that expired has no grace, also where another expiry is given to its name: it ended then.
    const text = `UPDATE lintel_tokens SET previous_hash = hash, hash = ?,
      previous_until = CASE WHEN expires_at <= ? THEN expires_at ELSE CAST(? AS BIGINT) END,
      ${renews ? "expires_at = ?," : ""} version = ${newVersion}
      WHERE id = ? AND hash = ? AND revoked_at IS NULL
      ${renews ? "" : "AND (expires_at IS NULL OR expires_at > ?)"}
      ${force ? "" : "AND (previous_until IS NULL OR previous_until <= ? OR expires_at <= ?)"}
      RETURNING *`;
    const values = [
      ...[hashToken(secret), now, now + graceMs, ...(renews ? [expiresAt] : [])],
      ...[id, hash, ...(renews ? [] : [now]), ...(force ? [] : [now, now])],
    ];
    const reading = { text: live, values: [id, id] };
    const [[changed] = [], [row] = []] = await this.#change({ text, values }, reading);
    if (changed) return { secret, token: tokenOf(changed) };
    const token = row && tokenOf(row);
    if (!token) return undefined;
    if (token.hash !== hash) return { refused: "raced", token };
    const expired = !renews && token.expiresAt !== undefined && token.expiresAt <= now;
    return { refused: expired ? "expired" : "grace", token };
  }

  async update(which: string, change: TokenChange): Promise<StoredToken | undefined> {
    const live = `${issued} AND (name = ? OR id = ?) AND revoked_at IS NULL`;
    for (;;) {
      const [row] = await rowsOf(this.#sql, `SELECT * FROM lintel_tokens WHERE ${live}`, [
        which,
        which,
      ]);
      if (!row) return undefined;
      const { id, models, from, limits, team, expiresAt } = changed(tokenOf(row), change);
      // A token that expired takes the one before its rotation along: that does not come back.
      const text = `UPDATE lintel_tokens SET models = ?, from_addresses = ?, limits = ?, team = ?,
        previous_until = CASE WHEN expires_at <= ? AND previous_until > expires_at THEN expires_at
          ELSE previous_until END,
        expires_at = ?, version = ${newVersion}
        WHERE id = ? AND version = ? AND revoked_at IS NULL RETURNING *`;
      const values = [
        ...written({ models, from, limits, team }),
        ...[Date.now(), expiresAt ?? null, id, Number(row.version)],
      ];
      const [[now] = []] = await this.#change({ text, values });
      if (now) return tokenOf(now);
      // Somebody else changed it in between: what they changed stays.
    }
  }

  async #live(name: string): Promise<boolean> {
    const text = `SELECT id FROM lintel_tokens WHERE ${issued} AND name = ? AND revoked_at IS NULL`;
    return (await rowsOf(this.#sql, text, [name])).length > 0;
  }

  #change(...statements: readonly Statement[]): ReturnType<typeof changeTokens> {
    return changeTokens(this.#sql, ...statements);
  }
}

/** Of those that an administrator issued: callers' own have names of their owners' choice. */
const issued = "owner IS NULL";

function changed(token: StoredToken, change: TokenChange): StoredToken {
  const { models = token.models, from = token.from } = change;
  const { team = token.team, expiresAt = token.expiresAt } = change;
  return {
    ...token,
    models: models ?? undefined,
    from: from ?? undefined,
    limits: changedLimits(token.limits, change.limits),
    team: team ?? undefined,
    expiresAt: expiresAt ?? undefined,
  };
}
