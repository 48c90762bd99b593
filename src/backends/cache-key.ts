/** What model servers are told of which calls belong together. */
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../core/call.js";
import { hashed } from "./end-user.js";

/** The key's name in OpenAI's form, and among what servers refuse. */
export const promptCacheKey = "prompt_cache_key";

/**
 * What calls say that belong together, as its SHA-256 in hex: what callers write into it is not the
 * vendor's business, and OpenAI takes at most 64 characters.
 * @returns `undefined` where a call says nothing
 */
export function toldCacheKey({
  affinity,
  request,
}: Pick<Call, "affinity"> & { readonly request: LLMRequest }): string | undefined {
  const key = affinity ?? request.promptCacheKey;
  return key === "" ? undefined : hashed(key);
}

/** What another gateway is told of the session that a call's header names: a header that it knows by itself. */
export const sessionHeaders = ({ affinity }: Pick<Call, "affinity">) =>
  affinity === undefined ? undefined : { "x-session-id": hashed(affinity) };
