/** What a server gave with a call (`extra_content`, as Gemini does), before servers that know nothing of it. */
import type { LLMMessage } from "../../../../gen/lintel/v1/chat_pb.js";

/** Stands for it among what servers refuse: a conversation may go on elsewhere. */
export const extraContents = "extra_content in messages";

/** In the words of Groq, Cerebras, Mistral, OpenAI and others' checks of what they are sent. */
export const refusesExtras: Readonly<Record<string, RegExp>> = {
  [extraContents]:
    /\bextra_content\b.{0,80}\b(?:unsupported|not (?:supported|permitted|allowed)|extra_forbidden|unknown|unexpected|unrecognized)|\b(?:unknown|unexpected|unrecognized|extra)\b.{0,80}\bextra_content\b/is,
};

/** Whether any call has some. */
export const hasExtras = (messages: readonly LLMMessage[]): boolean =>
  messages.some(({ toolCalls }) => toolCalls.some(({ extraContent }) => isGiven(extraContent)));

/**
 * Whether a server gave it: Google's words for calls without a signature, which its clients put at each turn of another
 * model (the Gemini CLI, ADK), say that none did.
 */
export const isGiven = (extraContent: string): boolean =>
  extraContent !== "" && !standIn.test(extraContent);

const standIn = /"(?:skip_thought_signature_validator|context_engineering_is_the_way_to_go)"/;
