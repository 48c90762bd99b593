/** What vendors are told of a request's `prompt_cache_key`. */
import { createHash } from "node:crypto";

/** Its name in OpenAI's form, and among what servers refuse. */
export const promptCacheKey = "prompt_cache_key";

/**
 * The key as its SHA-256 in hex: what callers write into it is not the vendor's business, and OpenAI
 * takes at most 64 characters.
 * @param key as the contract has it: empty where there is none
 */
export const toldCacheKey = (key: string): string | undefined =>
  key === "" ? undefined : createHash("sha256").update(key).digest("hex");
