/** Tokens that stand in the configuration. */
import type { Caller } from "../call.js";
import type { IssuedToken } from "../settings.js";
import { hashToken } from "../tokens.js";
import { admit, callerOf, type KnownToken } from "./admit.js";
import type { CallerSource } from "./source.js";

/** Letters of a token's hash that name it in usage. */
const idLength = 12;

/** Finds presented tokens by their hash. */
export class ConfiguredTokens implements CallerSource {
  readonly #byHash: ReadonlyMap<string, KnownToken>;

  constructor(tokens: readonly IssuedToken[]) {
    this.#byHash = new Map(
      tokens.map((token) => {
        const { name, hash } = token;
        const id = hash.replace("sha256:", "").slice(0, idLength);
        return [hash, { caller: callerOf(name, id, token) }];
      }),
    );
  }

  find(token: string): Caller | undefined {
    const known = this.#byHash.get(hashToken(token));
    return known && admit(known);
  }
}
