/** The images of a prompt, for guards to look at. */
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import { isConversation } from "../methods.js";
import type { GuardedImage } from "./guard.js";

/** Those of all messages, in their order. */
export function imagesOf({ method, request }: Call): GuardedImage[] {
  if (!isConversation(method)) return [];
  return (request as LLMRequest).messages.flatMap(({ role, parts }, i) =>
    parts.flatMap(({ imageUrl }, j) =>
      imageUrl
        ? [{ field: `messages[${i}].parts[${j}].image_url.url`, role, url: imageUrl.url }]
        : [],
    ),
  );
}
