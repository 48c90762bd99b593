/**
 * A database as the stores of tokens and usage see it: SQL that SQLite and
 * PostgreSQL both understand, with `?` for values. Transactions are lists of
 * statements, so that they are one message to a thread and never stay open.
 */

import { isObject } from "../../core/json.js";

/** What stands in a column. Times are milliseconds since the epoch. */
export type Value = string | number | null;

/** A row by column name. */
export type Row = Readonly<Record<string, Value>>;

/** One statement. */
export interface Statement {
  /** With `?` for each value. */
  readonly text: string;
  readonly values?: readonly Value[];
  /** Reads as much as there is, and may take minutes: others don't wait for it. */
  readonly long?: boolean;
}

/** Rows for a table, one for each line of JSON; those whose key is there already are passed over. */
export interface Insertion {
  readonly table: string;
  /** With the names by which lines that are objects have their values. */
  readonly columns: readonly (readonly [column: string, member: string])[];
  /**
   * Each an array of values in the order of the columns, or an object: earlier versions wrote
   * those. What is absent is NULL.
   */
  readonly lines: readonly string[];
}

/** The statement that inserts so many rows at once. */
export function insertText({ table, columns }: Omit<Insertion, "lines">, rows: number): string {
  const names = columns.map(([column]) => column).join(", ");
  const marks = `(${columns.map(() => "?").join(", ")})`;
  const all = Array.from({ length: rows }, () => marks).join(", ");
  return `INSERT INTO ${table} (${names}) VALUES ${all} ON CONFLICT DO NOTHING`;
}

/** What one line inserts, column by column. @throws ValueRefused if it is not JSON */
export function valuesOf(line: string, columns: Insertion["columns"]): Value[] {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch (cause) {
    throw new ValueRefused((cause as Error).message, { cause });
  }
  if (Array.isArray(row)) return columns.map((_, i) => asValue(row[i]));
  const members = isObject(row) ? row : {};
  return columns.map(([, member]) => asValue(members[member]));
}

function asValue(member: unknown): Value {
  if (typeof member === "boolean") return Number(member);
  return typeof member === "string" || typeof member === "number" ? member : null;
}

/** A database that is opened, and brought to the newest form, when it is first asked. */
export interface Sql {
  /** Name in messages: `sqlite` or `postgres`. */
  readonly kind: "sqlite" | "postgres";
  /**
   * Runs statements in one transaction.
   * @returns the rows of each
   * @throws DatabaseAway if it can't be used now, ValueRefused if it does not take the values
   */
  run(statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>;
  /**
   * Inserts rows: all, or none.
   * @throws DatabaseAway if it can't be used now, ValueRefused if it does not take one of them
   */
  insert(insertion: Insertion): Promise<void>;
  /** Lets go of it. Statements that run are finished first. */
  close(): Promise<void>;
}

/**
 * The database can't be used now: not reachable, full, locked, refused to us.
 * What was asked may or may not have been done. The cause is for the log.
 */
export class DatabaseAway extends Error {
  override readonly name = "DatabaseAway";
}

/** The database does not take these values. Asking the same again does not help. */
export class ValueRefused extends Error {
  override readonly name = "ValueRefused";
}

/** Runs one statement; answers its rows. */
export async function rowsOf(sql: Sql, text: string, values: readonly Value[] = []) {
  const [rows = []] = await sql.run([{ text, values }]);
  return rows;
}
