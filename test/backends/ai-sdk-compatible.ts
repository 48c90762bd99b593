/** Servers of OpenAI's form behind the AI SDK. */
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Backend } from "../../src/core/backend.js";
import { compatibleAt } from "./ai-sdk-subject.js";
import { chatRequest } from "./openai-subject.js";
import { opened } from "./serve.js";
import { callOf } from "./subject.js";
import type { Upstream } from "./upstream.js";

/** A backend before a server of the form. */
export const at = ({ url }: Upstream): Backend => opened(compatibleAt(url));

/** A whole answer, and the warnings beside it. */
export async function whole(backend: Backend, more = {}) {
  const call = callOf("complete", chatRequest(more));
  const messages: LLMResponse[] = [];
  for await (const step of backend.handlers.complete?.(call) ?? []) messages.push(...step);
  return { last: messages.at(-1), warnings: [...call.warnings] };
}
