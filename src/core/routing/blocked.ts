/** Prompts that a model server's moderation does not let through: another server may. */
import { LintelError } from "../errors.js";
import { hidesReasoning } from "../unseen.js";
import type { Batch } from "./attempt.js";

/** A refusal by moderation as one after which another target is asked; other failures stay as they are. */
export function askElsewhere(failure: LintelError): LintelError {
  const { code, message, param, cause } = failure;
  if (code !== "content_blocked") return failure;
  return new LintelError(code, message, {
    retry: "elsewhere",
    cause,
    ...(param !== undefined && { param }),
  });
}

/**
 * Whether an answer says nothing but that a filter blocked it.
 * @param first messages of it, the first
 * @param request whose caller may see no thoughts
 */
export function isBlockedAnswer({ done, value }: IteratorResult<Batch>, request: object): boolean {
  if (done) return false;
  const last = (value as Batch).at(-1);
  if (last?.$typeName !== "lintel.v1.LLMResponse") return false;
  if (last.choices[0]?.finishReason !== "content_filter") return false;
  const hidden = hidesReasoning(request);
  return (value as Batch).every((message) => saysNothing(message, hidden));
}

function saysNothing(message: Batch[number], hidden: boolean): boolean {
  if (message.$typeName !== "lintel.v1.LLMResponse") return false;
  const choice = message.choices[0];
  const said = choice?.delta ?? choice?.message;
  if (!said) return true;
  const { content, toolCalls, images, reasoningContent, reasoningDetails } = said;
  const thinks = !hidden && Boolean(reasoningContent || reasoningDetails);
  return content === "" && toolCalls.length + images.length === 0 && !thinks;
}

/** What such an answer counts as, where another target is asked for one. */
export const blockedAnswer = (): LintelError =>
  new LintelError("content_blocked", "the model server's filter blocked the answer", {
    retry: "elsewhere",
  });
