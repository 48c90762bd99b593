/** Whom OpenAI's clients ask for: `safety_identifier`, and `user`, which it came in the place of. */
import type { JsonObject } from "../../core/json.js";

/** What a request says of it. */
export interface EndUser {
  /** By the contract's name; nothing where `user` says it, or nobody is named. */
  readonly asked: { readonly user?: unknown };
  /** The client's name of the field. */
  readonly names: Readonly<Record<string, string>>;
}

/** What is read besides the contract's `user`. */
export const endUserFields = { safety_identifier: true } as const;

/** Reads it: where both name somebody the newer one counts. What it holds is the contract's to check. */
export function readEndUser({ safety_identifier: id }: JsonObject): EndUser {
  if (id === undefined || id === null || id === "") return { asked: {}, names: {} };
  return { asked: { user: id }, names: { user: "safety_identifier" } };
}
