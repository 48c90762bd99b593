/** The tables, and how they came to be. A migration that was released never changes. */

/** Each brings the database one version further; the first makes version 1. */
export const migrations: readonly (readonly string[])[] = [
  [
    `CREATE TABLE lintel_tokens (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      hash TEXT NOT NULL UNIQUE,
      previous_hash TEXT UNIQUE,
      previous_until BIGINT,
      models TEXT,
      limits TEXT,
      created_at BIGINT NOT NULL,
      expires_at BIGINT,
      revoked_at BIGINT,
      version BIGINT NOT NULL
    )`,
    "CREATE UNIQUE INDEX lintel_tokens_name ON lintel_tokens (name) WHERE revoked_at IS NULL",
    "CREATE INDEX lintel_tokens_version ON lintel_tokens (version)",
    "CREATE TABLE lintel_counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL)",
    "INSERT INTO lintel_counters (name, value) VALUES ('tokens', 0)",
    `CREATE TABLE lintel_usage (
      id TEXT PRIMARY KEY,
      at BIGINT NOT NULL,
      request_id TEXT NOT NULL,
      caller TEXT NOT NULL,
      token TEXT,
      door TEXT NOT NULL,
      method TEXT NOT NULL,
      model TEXT,
      backend TEXT,
      attempts INTEGER NOT NULL,
      prompt_tokens BIGINT NOT NULL,
      completion_tokens BIGINT NOT NULL,
      images INTEGER NOT NULL,
      estimated INTEGER NOT NULL,
      duration_ms DOUBLE PRECISION NOT NULL,
      first_ms DOUBLE PRECISION,
      outcome TEXT NOT NULL,
      spend BIGINT
    )`,
    // By time alone: with one by caller SQLite reads all of it to group by callers, whatever the time.
    "CREATE INDEX lintel_usage_at ON lintel_usage (at)",
  ],
  // NULL: the model server did not tell, or the record is older.
  [
    "ALTER TABLE lintel_usage ADD COLUMN cached_tokens BIGINT",
    "ALTER TABLE lintel_usage ADD COLUMN reasoning_tokens BIGINT",
  ],
  // NULL: of no team; nobody was named, or the record is older. `user` is a word of PostgreSQL's own.
  [
    "ALTER TABLE lintel_tokens ADD COLUMN team TEXT",
    "ALTER TABLE lintel_usage ADD COLUMN team TEXT",
    "ALTER TABLE lintel_usage ADD COLUMN end_user TEXT",
  ],
  // What budgets that never begin anew count of records that are deleted. Of those without a token the caller is empty.
  [
    `CREATE TABLE lintel_usage_past (
      caller TEXT NOT NULL,
      team TEXT NOT NULL,
      model TEXT NOT NULL,
      spend DOUBLE PRECISION NOT NULL,
      PRIMARY KEY (caller, team, model)
    )`,
  ],
  // NULL: the model server did not tell, or the record is older.
  ["ALTER TABLE lintel_usage ADD COLUMN cache_write_tokens BIGINT"],
  // NULL: it may be used from everywhere. `from` is a word of SQL.
  ["ALTER TABLE lintel_tokens ADD COLUMN from_addresses TEXT"],
  // NULL: an administrator issued it. Two callers may call their own tokens the same.
  [
    "ALTER TABLE lintel_tokens ADD COLUMN owner TEXT",
    "ALTER TABLE lintel_tokens ADD COLUMN owner_issuer TEXT",
    "ALTER TABLE lintel_tokens ADD COLUMN owner_claims TEXT",
    "DROP INDEX lintel_tokens_name",
    "CREATE UNIQUE INDEX lintel_tokens_name ON lintel_tokens (name) WHERE revoked_at IS NULL AND owner IS NULL",
    "CREATE UNIQUE INDEX lintel_tokens_owner ON lintel_tokens (owner, name) WHERE revoked_at IS NULL",
  ],
  // By what is counted and deleted of those that callers made.
  [
    "CREATE INDEX lintel_tokens_made ON lintel_tokens (owner, created_at) WHERE owner IS NOT NULL",
    "CREATE INDEX lintel_tokens_over ON lintel_tokens (expires_at) WHERE owner IS NOT NULL",
  ],
];

/** Where the version stands. Made before everything else. */
export const versionTable =
  "CREATE TABLE IF NOT EXISTS lintel_migrations (version INTEGER PRIMARY KEY, applied_at BIGINT NOT NULL)";

/** Reads it; 0 where nothing was made yet. */
export const readVersion = "SELECT COALESCE(MAX(version), 0) AS version FROM lintel_migrations";

/** Writes it, with the time in milliseconds since the epoch. */
export const writeVersion = "INSERT INTO lintel_migrations (version, applied_at) VALUES (?, ?)";

/**
 * The migrations that a database of this version still lacks, each with the
 * version that it makes.
 * @throws Error if a newer Lintel made the database
 */
export function missing(version: number) {
  if (version > migrations.length) {
    throw new Error(
      `the database is of version ${version}, made by a newer Lintel; this one knows version ${migrations.length}`,
    );
  }
  return migrations.map((statements, i) => ({ statements, version: i + 1 })).slice(version);
}
