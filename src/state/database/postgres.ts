/** PostgreSQL, through a pool of connections. */
import type { Pool, PoolClient } from "pg";
import { remedyOf } from "../../core/tls-errors.js";
import { missing, readVersion, versionTable, writeVersion } from "./migrations.js";
import {
  DatabaseAway,
  type Insertion,
  insertText,
  type Row,
  type Sql,
  type Statement,
  ValueRefused,
  valuesOf,
} from "./sql.js";

/** Most connections of one gateway. */
const connections = 4;

/** How long a connection may take to be made, milliseconds. */
const connectMs = 5000;

/** How long a statement may take before the connection counts as dead, milliseconds. */
const statementMs = 15_000;

/** The same of one that sums up all usage: of tens of millions of records that takes minutes. */
const longStatementMs = 15 * 60_000;

/** Key of the lock under which gateways that start at the same time migrate one after the other. */
const lockKey = 7_203_421_175;

/** A PostgreSQL database. Connects with the first question, and again after each failure. */
export class PostgresSql implements Sql {
  readonly kind = "postgres";
  readonly #url: string;
  readonly #longestMs: number;
  #ready: Promise<Pool> | undefined;
  #pool: Pool | undefined;
  #closed = false;

  /**
   * @param url as libpq takes it: `postgres://user:password@host:5432/name`; `?sslmode=require`
   *   verifies the server as `verify-full` does
   * @param longestMs that a statement may take which does not read all there is, milliseconds
   */
  constructor(url: string, longestMs = statementMs) {
    this.#url = url;
    this.#longestMs = longestMs;
  }

  async run(statements: readonly Statement[]): Promise<readonly (readonly Row[])[]> {
    if (this.#closed) throw new DatabaseAway("the database is closed");
    this.#ready ??= this.#begin().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    const pool = await this.#ready.catch(rethrow);
    return this.#withClient(pool, (client) =>
      transaction(client, this.#lockMs, async () => {
        const rows: (readonly Row[])[] = [];
        for (const statement of statements) rows.push(await query(client, statement));
        return rows;
      }),
    );
  }

  async insert(insertion: Insertion): Promise<void> {
    const { columns, lines } = insertion;
    const values = lines.flatMap((line) => valuesOf(line, columns));
    await this.run([{ text: insertText(insertion, lines.length), values }]);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#ready?.catch(() => {});
    const pool = this.#pool;
    this.#pool = undefined;
    await pool?.end();
  }

  async #begin(): Promise<Pool> {
    this.#pool ??= await createPool(this.#url, this.#longestMs);
    await this.#withClient(this.#pool, (client) => migrate(client, this.#lockMs));
    return this.#pool;
  }

  async #withClient<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
    let client: PoolClient;
    try {
      client = await pool.connect();
    } catch (error) {
      throw translate(error);
    }
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      const translated = translate(error);
      // A connection in an unknown state is not used again.
      client.release(translated instanceof DatabaseAway);
      throw translated;
    }
  }

  /**
   * How long the server waits for a lock, which is less than we wait for it: it sees that we left only
   * when it has the lock, and with each attempt one more of its connections would wait for that.
   */
  get #lockMs(): number {
    return Math.ceil(this.#longestMs * 0.8);
  }
}

async function createPool(url: string, longestMs: number): Promise<Pool> {
  const { default: pg } = await import("pg");
  const { types } = pg;
  const pool = new pg.Pool({
    connectionString: verified(url),
    max: connections,
    connectionTimeoutMillis: connectMs,
    query_timeout: longestMs,
    application_name: "lintel",
    keepAlive: true,
    allowExitOnIdle: true,
    types: {
      // 64-bit integers and sums come as text otherwise; ours stay far below 2^53.
      getTypeParser: ((oid: number, format: "text") =>
        oid === types.builtins.INT8 || oid === types.builtins.NUMERIC
          ? Number
          : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
    },
  });
  // A connection that breaks: the pool drops it, the next question makes one. Between two
  // statements of a question only the connection itself tells, and ends the process if nobody listens.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/**
 * The same with its `sslmode` as `pg` takes it, which is not what libpq does: it verifies the
 * server in each of these, and writes a warning of many lines that it may not do so some day.
 */
const verified = (url: string): string =>
  /[?&]uselibpqcompat=/.test(url)
    ? url
    : url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/g, "$1verify-full");

async function migrate(client: PoolClient, lockMs: number): Promise<void> {
  if (await transaction(client, lockMs, () => isCurrent(client))) return;
  await transaction(client, lockMs, async () => {
    // Held until the transaction ends, so it works behind poolers of connections too.
    await client.query("SELECT pg_advisory_xact_lock($1)", [lockKey]);
    await client.query(versionTable);
    const { rows } = await client.query<{ version: number }>(readVersion);
    for (const step of missing(rows[0]?.version ?? 0)) {
      for (const statement of step.statements) await client.query(statement);
      await query(client, { text: writeVersion, values: [step.version, Date.now()] });
    }
  });
}

/** By reading alone: one that can't be written to just now still answers what is asked. */
async function isCurrent(client: PoolClient): Promise<boolean> {
  const made = "SELECT to_regclass('lintel_migrations') IS NOT NULL AS made";
  const [table] = (await client.query<{ made: boolean }>(made)).rows;
  if (!table?.made) return false;
  const { rows } = await client.query<{ version: number }>(readVersion);
  return missing(rows[0]?.version ?? 0).length === 0;
}

/**
 * One of one statement, too: only what is set for a transaction keeps to it where a pooler of
 * connections stands between. It gives each transaction any of its connections, whose settings are
 * then those of whoever has it next; and of what is told as a connection is made it refuses what it
 * does not know.
 * @param lockMs longest wait for a lock
 */
async function transaction<T>(
  client: PoolClient,
  lockMs: number,
  work: () => Promise<T>,
): Promise<T> {
  await client.query(`BEGIN; SET LOCAL lock_timeout = ${lockMs}`);
  try {
    const result = await work();
    await client.query("COMMIT");
    return result;
  } catch (error) {
    // Any other ends the connection, which may not answer any more.
    if (translate(error) instanceof ValueRefused) await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

async function query(client: PoolClient, { text, values = [], long = false }: Statement) {
  let n = 0;
  const numbered = text.replaceAll("?", () => `$${++n}`);
  // PostgreSQL's text has no zero character.
  const clean = values.map((v) => (typeof v === "string" ? v.replaceAll("\0", "") : v));
  const asked = { text: numbered, values: clean, ...(long && { query_timeout: longStatementMs }) };
  const { rows } = await client.query<Record<string, string | number | null>>(asked);
  return rows;
}

const rethrow = (error: unknown): never => {
  throw translate(error);
};

/** SQLSTATE's classes of values that are wrong, and of constraints. */
const refusal = /^(22|23)[0-9A-Z]{3}$/;

function translate(error: unknown): Error {
  if (error instanceof DatabaseAway || error instanceof ValueRefused) return error;
  const { message, code } = error as Error & { code?: string };
  if (typeof code === "string" && refusal.test(code)) {
    return new ValueRefused(message, { cause: error });
  }
  // With an authority of its own, `pg` does not heed those that Node trusts besides.
  const remedy = remedyOf(error) && trusting;
  const cause = remedy ? Object.assign(error as Error, { remedy }) : error;
  return new DatabaseAway("PostgreSQL can't be used", { cause });
}

const trusting =
  "sslrootcert=FILE in the address of the database (state.database) trusts the authority in a file";
