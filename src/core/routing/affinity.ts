/** Which calls should meet at one target, where their prompts' begin is at hand still. */
import { createHash } from "node:crypto";
import type { LLMMessage, LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import type { RoutingSettings } from "./settings.js";

/** Of a text is looked at: what is alike for so long is alike enough. */
const longestText = 32_768;

/**
 * The key of a call, the same for all that should meet: what its header says, else the request's
 * `prompt_cache_key`, else, where the operator wants that, how its conversation begins.
 * @returns `undefined`: it may go anywhere
 */
export function affinityOf(
  { affinity, request }: Call,
  { affinity: by }: RoutingSettings,
): string | undefined {
  if (affinity !== undefined) return affinity;
  if (request.$typeName !== "lintel.v1.LLMRequest") return undefined;
  if (request.promptCacheKey !== "") return request.promptCacheKey;
  return by === "conversation" ? opening(request) : undefined;
}

/** All up to the first message of the user, which each turn of a conversation has: a hash of it. */
function opening({ messages }: LLMRequest): string {
  const hash = createHash("sha256");
  for (const message of messages) {
    hash.update(`${message.role}\n`);
    for (const text of textsOf(message)) {
      hash.update(`${text.length}\n`).update(text.slice(0, longestText));
    }
    if (message.role === "user") break;
  }
  return hash.digest("base64url");
}

function* textsOf({ content, parts }: LLMMessage): Iterable<string> {
  if (parts.length === 0) yield content;
  for (const { text, imageUrl, file, inputAudio } of parts) {
    yield text ?? imageUrl?.url ?? file?.fileData ?? inputAudio?.data ?? "";
  }
}
