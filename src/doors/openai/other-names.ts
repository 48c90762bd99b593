/** Fields of the contract that clients of other servers have other names for. */
import type { JsonObject } from "../../core/json.js";

/** Mistral's, and that of llama.cpp, LM Studio and Ollama. */
const others = [
  ["random_seed", "seed"],
  ["repeat_penalty", "repetition_penalty"],
] as const;

/** What is read of a request for them. */
export const otherNameFields: Readonly<Record<string, true>> = Object.fromEntries(
  others.map(([theirs]) => [theirs, true]),
);

/**
 * Takes what a request says by these, where it does not say it by the contract's name as well.
 * @param members gets the values, by the contract's names
 * @param names gets the client's
 */
export function takeOtherNames(
  json: JsonObject,
  members: Record<string, unknown>,
  names: Record<string, string>,
): void {
  for (const [theirs, ours] of others) {
    const value = json[theirs] ?? undefined;
    if (value === undefined || (json[ours] ?? undefined) !== undefined) continue;
    members[ours] = value;
    names[ours] = theirs;
  }
}
