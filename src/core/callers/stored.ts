/**
 * Tokens of a database, remembered in memory: a token that was seen costs no
 * I/O, and goes on working while the database is away. Changes, revocations
 * among them, arrive by asking for what changed, every `refreshMs`.
 */
import { inTime } from "../abort.js";
import type { Caller } from "../call.js";
import { LintelError } from "../errors.js";
import type { Logger } from "../log.js";
import { OutageReasons } from "../outage.js";
import { Recent } from "../recent.js";
import { anonymousName, hashToken, isToken } from "../tokens.js";
import { admit, callerOf, type KnownToken } from "./admit.js";
import { Lookups } from "./lookups.js";
import type { CallerSource } from "./source.js";
import { graceEnd, type StoredToken, type TokenStore } from "./store.js";

/** How tokens of a database are looked up. */
export interface StoredTokensSettings {
  /** Within which changes arrive, milliseconds. Default 5000. */
  readonly refreshMs?: number | undefined;
  /** While the store is away, tokens that were not seen before are refused, or let in nameless. */
  readonly whenAway?: "refuse" | "allow" | undefined;
  /** Most tokens that are remembered. Default 10000. */
  readonly capacity?: number | undefined;
  readonly log: Logger;
}

/** How long a token that is not in the store is refused without asking again, milliseconds. */
const unknownMs = 1000;

/** How soon a store that is away is asked again, milliseconds. */
const retryMs = 1000;

/** Longest that callers wait for the store to look their tokens up, milliseconds. */
const answerMs = 2000;

interface Entry extends KnownToken {
  /** Of the token in the store. */
  readonly id: string;
}

/** A source of callers over a store of tokens. `close` it when done. */
export class StoredTokens implements CallerSource {
  readonly #store: TokenStore;
  readonly #settings: Required<StoredTokensSettings>;
  readonly #known: Recent<string, Entry>;
  /** Hashes that are not in the store, and until when that is believed, by `performance.now`. */
  readonly #unknown: Recent<string, number>;
  readonly #lookups = new Lookups((hashes) => this.#look(hashes));
  #version: number | undefined;
  #away = false;
  #outages = 0;
  readonly #reasons = new OutageReasons();
  #timer: NodeJS.Timeout | undefined;
  /** Ends with the question after changes that runs. */
  #following: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(store: TokenStore, settings: StoredTokensSettings) {
    this.#store = store;
    this.#settings = {
      refreshMs: settings.refreshMs ?? 5000,
      whenAway: settings.whenAway ?? "refuse",
      capacity: settings.capacity ?? 10_000,
      log: settings.log,
    };
    this.#known = new Recent(this.#settings.capacity);
    this.#unknown = new Recent(this.#settings.capacity);
  }

  /** Whether the store did not answer when it was asked last. */
  get away(): boolean {
    return this.#away;
  }

  /** How often the store went away, a start without it included. */
  get outages(): number {
    return this.#outages;
  }

  /** Begins to follow changes. */
  start(): void {
    void this.follow();
  }

  /**
   * Asks what changed now, and not when it is time again: whoever changed something knows that it did.
   * Resolves once all that was changed before is known, or the store does not answer.
   */
  follow(): Promise<void> {
    // The question that runs may have been asked before the change.
    this.#following = this.#following.then(() => this.#refresh());
    return this.#following;
  }

  /** Stops following changes. The store is its owner's to close. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  find(token: string): Caller | undefined | Promise<Caller | undefined> {
    if (!isToken(token)) return undefined;
    const hash = hashToken(token);
    const entry = this.#known.get(hash);
    if (entry) return admit(entry);
    if ((this.#unknown.get(hash) ?? 0) > performance.now()) return undefined;
    if (this.#away) return this.#unseen(token);
    return this.#lookups.ask(hash).then(
      (found) => found && admit(found),
      (error) => {
        if (error instanceof LintelError) throw error;
        this.#lost(error);
        return this.#unseen(token);
      },
    );
  }

  /** What becomes of a token that was not seen before while nobody can be asked. */
  #unseen(token: string): Caller {
    if (this.#settings.whenAway === "allow") return { id: anonymousName(token) };
    throw new LintelError("unavailable", "the bearer token can't be checked now");
  }

  /** Finds what the store has; `undefined` where a change came in between, which may be one of these tokens'. */
  async #look(hashes: readonly string[]): Promise<ReadonlyMap<string, Entry> | undefined> {
    const version = this.#version;
    const tokens = await inTime(this.#store.find(hashes), answerMs);
    if (version !== this.#version) return undefined;
    const found = new Map(tokens.flatMap(entriesOf));
    for (const hash of hashes) {
      const entry = found.get(hash);
      if (entry) this.#known.set(hash, entry);
      else this.#unknown.set(hash, performance.now() + unknownMs);
    }
    return found;
  }

  async #refresh(): Promise<void> {
    if (this.#closed) return;
    try {
      const { version, tokens } = await this.#store.changes(this.#version);
      if (this.#closed) return;
      if (version !== this.#version) this.#unknown.clear();
      // What was read before the first version, or in a database that was since put back, proves nothing.
      if (this.#version === undefined || version < this.#version) this.#known.clear();
      this.#version = version;
      this.#update(tokens);
      if (this.#away) this.#settings.log.info({}, "the database of tokens is back");
      this.#away = false;
    } catch (error) {
      if (this.#closed) return;
      this.#lost(error);
    }
    this.#schedule();
  }

  #schedule(): void {
    const { refreshMs } = this.#settings;
    const soon = this.#away ? Math.min(refreshMs, retryMs) : refreshMs;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.follow(), soon);
    this.#timer.unref();
  }

  /**
   * Brings what is remembered of tokens up to date. Those that were not seen are not added.
   * Once through all that is remembered, however many changed: calls wait meanwhile.
   */
  #update(tokens: readonly StoredToken[]): void {
    if (tokens.length === 0) return;
    const changed = new Map(tokens.map((token) => [token.id, new Map(entriesOf(token))]));
    const seen = new Set<ReadonlyMap<string, Entry>>();
    for (const [hash, { id }] of this.#known.entries()) {
      const now = changed.get(id);
      if (!now) continue;
      seen.add(now);
      if (!now.has(hash)) this.#known.delete(hash);
    }
    for (const now of seen) for (const [hash, entry] of now) this.#known.set(hash, entry);
  }

  #lost(error: unknown): void {
    const { log, whenAway } = this.#settings;
    if (this.#away) {
      const reason = this.#reasons.next(error);
      if (reason !== undefined) log.warn({ error: reason }, "the database of tokens is still away");
      return;
    }
    this.#away = true;
    this.#outages++;
    const unseen = whenAway === "allow" ? "let in without a name" : "refused";
    log.warn(
      { error: this.#reasons.begin(error) },
      `the database of tokens is away; tokens not seen before are ${unseen} until it is back`,
    );
    // Found out by a question between two times of following changes, which may be far apart.
    if (this.#timer && !this.#closed) this.#schedule();
  }
}

/** What is remembered of a stored token, by each hash that leads to it. */
function entriesOf(token: StoredToken): [string, Entry][] {
  const { id, previous, owner } = token;
  const own = callerOf(owner?.caller ?? token.name, id, token);
  const caller = owner ? { ...own, owner } : own;
  const revoked = token.revokedAt !== undefined;
  const entry: Entry = { id, caller, revoked };
  if (!previous) return [[token.hash, entry]];
  const old = { ...entry, caller: { ...caller, expiresAt: graceEnd(token) } };
  return [
    [token.hash, entry],
    [previous.hash, old],
  ];
}
