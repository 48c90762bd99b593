/** Which tier of service an answer was served in, as callers and prices are told of it. */
import type { LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";

/** Such a name; anything else is none. */
const tierName = /^[a-z][\w-]{0,31}$/i;

/** Notes it down, once the answer is complete. @param told the model server's word for it; absent: it does not tell */
export function noteTier(
  { attributes, warnings }: Call,
  told: string | undefined,
  answer: LLMResponse,
): void {
  if (told !== undefined && tierName.test(told)) {
    attributes.servedTier = told;
    answer.serviceTier = told;
  } else if (attributes.serviceTier !== undefined) {
    // Its backend went on without it, and has said so: the ordinary tier served it.
    const dropped = [...warnings].some((text) => text.startsWith("service_tier:"));
    if (dropped) attributes.serviceTier = undefined;
  }
}
