/** Tokens as rows of a database, and how rows are changed so that every gateway hears of it. */
import { randomBytes } from "node:crypto";
import type { NewToken } from "../../core/callers/registry.js";
import type { StoredToken } from "../../core/callers/store.js";
import type { Row, Sql, Statement } from "./sql.js";

/**
 * Changes tokens. The counter's row is locked until the end, so versions become visible in their order, and nothing
 * else changes meanwhile.
 * @returns the rows of each statement
 */
export async function changeTokens(
  sql: Sql,
  ...statements: readonly Statement[]
): Promise<readonly (readonly Row[])[]> {
  const next = { text: "UPDATE lintel_counters SET value = value + 1 WHERE name = 'tokens'" };
  return (await sql.run([next, ...statements])).slice(1);
}

/** The version that such a change makes, as SQL. */
export const newVersion = "(SELECT value FROM lintel_counters WHERE name = 'tokens')";

/** Names a new token. */
export const newId = (): string => `tok_${randomBytes(9).toString("base64url")}`;

/** What a token may do, as it stands in columns: models, addresses, limits and team. */
export function written({ models, from, limits, team }: Omit<NewToken, "name" | "expiresAt">) {
  return [
    models ? JSON.stringify(models) : null,
    from ? JSON.stringify(from) : null,
    limits ? JSON.stringify(limits, writeInfinity) : null,
    team ?? null,
  ];
}

/** A row's token. */
export function tokenOf(row: Row): StoredToken {
  const time = (value: Row[string] | undefined) => (value === null ? undefined : Number(value));
  const until = time(row.previous_until);
  return {
    id: String(row.id),
    name: String(row.name),
    owner:
      row.owner === null
        ? undefined
        : {
            caller: String(row.owner),
            issuer: String(row.owner_issuer),
            claims: JSON.parse(String(row.owner_claims)),
          },
    hash: String(row.hash),
    previous:
      row.previous_hash === null
        ? undefined
        : { hash: String(row.previous_hash), until: until ?? 0 },
    models: row.models === null ? undefined : JSON.parse(String(row.models)),
    from: row.from_addresses === null ? undefined : JSON.parse(String(row.from_addresses)),
    limits: row.limits === null ? undefined : JSON.parse(String(row.limits), readInfinity),
    team: row.team === null ? undefined : String(row.team),
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
