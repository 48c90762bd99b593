/** SQLite in a file, run in threads of its own. */
import type { Insertion, Row, Sql, Statement } from "./sql.js";
import { SqliteThread } from "./sqlite-thread.js";

/**
 * A database in a file. What reads all there is has a thread of its own, which only reads:
 * callers wait for their tokens to be looked up by the other.
 */
export class SqliteSql implements Sql {
  readonly kind = "sqlite";
  readonly #main: SqliteThread;
  readonly #reader: SqliteThread;

  /** @param path of the file; its folder is made if it is not there */
  constructor(path: string) {
    this.#main = new SqliteThread({ path, reader: false });
    this.#reader = new SqliteThread({ path, reader: true });
  }

  async run(statements: readonly Statement[]): Promise<readonly (readonly Row[])[]> {
    const long = statements.length > 0 && statements.every((statement) => statement.long);
    if (!long) return this.#main.ask({ statements });
    // It makes the file and its tables, and says what is wrong with them.
    await this.#main.ask({ statements: [] });
    return this.#reader.ask({ statements });
  }

  async insert({ table, columns, lines }: Insertion): Promise<void> {
    // One text costs next to nothing on its way to the thread, thousands of values do.
    await this.#main.ask({ insertion: { table, columns, lines: lines.join("\n") } });
  }

  async close(): Promise<void> {
    // The last one brings the log beside the file into it, and can write.
    await this.#reader.close();
    await this.#main.close();
  }
}
