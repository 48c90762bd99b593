/** Answers as callers get them behind guards, and checkers that note what they are asked. */
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import type { Checker, Guard, GuardedText } from "../../src/core/guards/guard.js";
import { says } from "../support/scripted.js";
import { guardOf } from "./guarding.js";

const answers = { lookAt: ["answers"] } as const satisfies Partial<Guard>;

/** What a caller got of an answer, joined. */
export function got(messages: readonly object[]) {
  const told = { content: "", thoughts: "", details: "", args: "", pieces: [] as string[] };
  for (const message of messages as LLMResponse[]) {
    const said = message.choices[0]?.delta ?? message.choices[0]?.message;
    told.content += said?.content ?? "";
    if (said?.content) told.pieces.push(said.content);
    told.thoughts += said?.reasoningContent ?? "";
    told.details += said?.reasoningDetails ?? "";
    for (const call of said?.toolCalls ?? []) told.args += call.function?.arguments ?? "";
  }
  const last = messages.at(-1) as LLMResponse | undefined;
  return { ...told, last, reason: last?.choices[0]?.finishReason };
}

/** A text, one letter for each piece. */
export const letters = (text: string): Handle<"chat"> => says(...text);

/** A server of one's own that is asked about pieces. */
export function asked(verdict: Checker["check"]) {
  const seen: GuardedText[] = [];
  const checker: Checker = {
    check(texts, call) {
      seen.push(...texts);
      return verdict(texts, call);
    },
  };
  return { guard: guardOf("a", checker, answers), seen };
}
