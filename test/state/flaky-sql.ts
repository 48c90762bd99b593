/** A database that is away, or does not answer, when it is told to. */
import {
  DatabaseAway,
  type Insertion,
  type Sql,
  type Statement,
} from "../../src/state/database/sql.js";

/** A real database that can be away, lose the answer to what it did, or never give one. */
export class FlakySql implements Sql {
  readonly kind = "sqlite";
  state: "there" | "away" | "deaf" | "hanging" = "there";
  /** Why it is away. */
  why: Error | undefined;
  asked = 0;
  /** What happens while it is asked to insert. */
  meanwhile: (() => Promise<void>) | undefined;
  readonly #real: Sql;

  constructor(real: Sql) {
    this.#real = real;
  }

  run(statements: readonly Statement[]) {
    return this.#ask(() => this.#real.run(statements));
  }

  async insert(insertion: Insertion) {
    await this.meanwhile?.();
    this.meanwhile = undefined;
    return this.#ask(() => this.#real.insert(insertion));
  }

  async #ask<T>(what: () => Promise<T>): Promise<T> {
    this.asked++;
    if (this.state === "away") throw new DatabaseAway("away", { cause: this.why });
    if (this.state === "hanging") return new Promise(() => {});
    const answer = await what();
    if (this.state === "deaf") throw new DatabaseAway("no answer");
    return answer;
  }

  close(): Promise<void> {
    return this.#real.close();
  }
}
