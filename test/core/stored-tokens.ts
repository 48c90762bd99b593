/** Tokens of a store that does as it is told, and who they are found to be of. */
import { onTestFinished, vi } from "vitest";
import type { Caller } from "../../src/core/call.js";
import type { StoredToken, TokenChanges, TokenStore } from "../../src/core/callers/store.js";
import { StoredTokens, type StoredTokensSettings } from "../../src/core/callers/stored.js";
import type { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { gate } from "../support/calls.js";

/** A store of tokens that can be away, and slow, and remembers what it was asked. */
export class ScriptedStore implements TokenStore {
  readonly asked: string[][] = [];
  away = false;
  /** What `changes` throws while it is away. */
  why = new Error("away");
  /** Awaited before an answer to `find` goes out, after it was read. */
  gate: Promise<void> = Promise.resolve();
  polls = 0;
  /** Awaited before an answer to `changes` goes out, after it was read. */
  #changesGate: Promise<void> = Promise.resolve();
  #version = 0;
  readonly #tokens = new Map<string, StoredToken & { version: number }>();

  put(token: StoredToken): void {
    this.#tokens.set(token.id, { ...token, version: ++this.#version });
  }

  add(id: string, more: Partial<StoredToken> = {}): string {
    const secret = createToken();
    this.put({ id, name: id, hash: hashToken(secret), createdAt: 0, ...more });
    return secret;
  }

  /** A copy of it all, as of now. */
  copied() {
    const version = this.#version;
    const tokens = [...this.#tokens];
    return {
      putBack: () => {
        this.#version = version;
        this.#tokens.clear();
        for (const [id, token] of tokens) this.#tokens.set(id, token);
      },
    };
  }

  token(id: string): StoredToken {
    return this.#tokens.get(id) as StoredToken;
  }

  async find(hashes: readonly string[]): Promise<readonly StoredToken[]> {
    this.asked.push([...hashes]);
    if (this.away) throw new Error("away");
    const found = [...this.#tokens.values()].filter(
      ({ hash, previous }) => hashes.includes(hash) || hashes.includes(previous?.hash ?? ""),
    );
    await this.gate;
    return found;
  }

  async changes(since?: number): Promise<TokenChanges> {
    this.polls++;
    if (this.away) throw this.why;
    const all = [...this.#tokens.values()];
    const tokens = since === undefined ? [] : all.filter(({ version }) => version > since);
    const answer = { version: this.#version, tokens };
    await this.#changesGate;
    return answer;
  }

  /** Holds answers to `changes` back. @returns what lets them go */
  holdChanges(): () => void {
    const { opened, open } = gate();
    this.#changesGate = opened;
    return open;
  }
}

/** A source over the store; closed when the test is over. */
export function remembered(
  store: TokenStore,
  settings: Partial<StoredTokensSettings> = {},
): StoredTokens {
  const tokens = new StoredTokens(store, { log: silent, ...settings });
  onTestFinished(() => tokens.close());
  return tokens;
}

/** Whose token it is, or the error's code and words. */
export async function who(
  tokens: StoredTokens,
  token: string,
): Promise<Caller | string | undefined> {
  try {
    return await tokens.find(token);
  } catch (error) {
    return `${(error as LintelError).code}: ${(error as LintelError).message}`;
  }
}

/** Followed closely, and up to date with the store as it is now. */
export async function following(
  store: ScriptedStore,
  settings: Partial<StoredTokensSettings> = {},
) {
  const tokens = remembered(store, { refreshMs: 5, ...settings });
  tokens.start();
  await vi.waitUntil(() => store.polls > 0);
  return tokens;
}
