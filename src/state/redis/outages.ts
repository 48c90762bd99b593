/** What the log hears of a store that goes away and comes back. */
import type { Logger } from "../../core/log.js";
import { OutageReasons } from "../../core/outage.js";
import { remedyOf } from "../../core/tls-errors.js";

/** What a store is for. */
export type Keeps = "limits" | "answers" | "cache";

/** Calls that can't go on without it, where the operator closed on it. */
const refused: Readonly<Partial<Record<Keeps, string>>> = {
  limits: "calls that would have to be counted",
  answers: "calls with an Idempotency-Key",
};

/** Where the configuration says how a store is reached. */
export const sectionOf = (keeps: Keeps): string =>
  keeps === "cache" ? "cache.redis" : "state.redis";

/** Counts outages, and says of each once that it began, what turned out to be its reason, and that it is over. */
export class Outages {
  readonly #log: Logger;
  readonly #about: { readonly store: "redis"; readonly keeps: Keeps };
  readonly #refuses: string | undefined;
  readonly #reasons = new OutageReasons();
  #count = 0;
  /** Whether a password was refused in this outage. */
  #refusedPassword = false;

  /** @param onFailure what becomes of calls meanwhile */
  constructor(log: Logger, keeps: Keeps, onFailure: "open" | "closed") {
    this.#log = log;
    this.#about = { store: "redis", keeps };
    this.#refuses = onFailure === "open" ? undefined : refused[keeps];
  }

  /** How many there were, a start without the store included. */
  get count(): number {
    return this.#count;
  }

  /** The store can't be used. @param here whether it could until now */
  failed(error: Error, here: boolean): void {
    const begins = here || this.#count === 0;
    if (begins) this.#refusedPassword = false;
    // What is asked behind a password that was refused: it is not that there was none.
    else if (this.#refusedPassword && /^NOAUTH /.test(error.message)) return;
    this.#refusedPassword ||= /^(?:WRONGPASS|ERR invalid password)/.test(error.message);
    if (begins) {
      this.#count++;
      this.#log.warn(
        { ...this.#about, reason: this.#reasons.begin(inOurWords(error, this.#about.keeps)) },
        this.#refuses === undefined
          ? "the store is away: deciding without it until it is back"
          : `the store is away: ${this.#refuses} are refused until it is back`,
      );
      return;
    }
    const reason = this.#reasons.next(inOurWords(error, this.#about.keeps));
    if (reason !== undefined) this.#log.warn({ ...this.#about, reason }, "the store is still away");
  }

  /** It can be used, for the first time or again. */
  over(): void {
    if (this.#count > 0) this.#log.info(this.#about, "the store is back");
  }
}

/** What the client says where it has no connection speaks of its own options; what a node of a cluster says, of slots. */
function inOurWords(error: Error, keeps: Keeps): Error {
  const { message, cause } = error;
  if (/enableOfflineQueue/.test(message)) return new Error("the connection was closed", { cause });
  if (/^MOVED /.test(message)) {
    const list = `${sectionOf(keeps)}.url must be a list`;
    return new Error(`this is one node of a cluster, for which ${list}`, { cause: error });
  }
  if (/^Too many Cluster redirections.*(TRYAGAIN|ASK|MOVED) /.test(message)) {
    return new Error("the slot of what is asked moves to another node", { cause: error });
  }
  if (remedyOf(error) !== undefined) {
    // Where it is set already, what Node is told to trust besides does not count.
    const remedy = `${sectionOf(keeps)}.tls.ca trusts the authority in a file`;
    return Object.assign(error, { remedy });
  }
  return error;
}
