/** What answers come to. */
import type { Backend } from "../../src/core/backend.js";
import { Thoughts } from "../../src/core/reasoning.js";
import { asked, stampsOf } from "../backends/ai-sdk-calls.js";

/** How an answer is asked for. */
export type Method = "chat" | "complete";

/** The methods, for tests of each. */
export const methods: readonly Method[] = ["complete", "chat"];

/** What a backend answers through the core, and how it stamps its answer itself: the core has ids of its own. */
export async function answerOf(backend: Backend, method: Method, request: object) {
  const stamped = stampsOf(backend, method);
  const { code, error, messages, text, calls, finishReason, warnings } = await asked(
    backend,
    method,
    { maxTokens: 4096, ...request },
  );
  const thoughts = new Thoughts();
  for (const { choices } of messages) {
    for (const { delta, message } of choices) thoughts.add(delta ?? message ?? {});
  }
  const { usage, usageEstimated } = messages.at(-1) ?? {};
  return {
    ...{ code, error: error?.message, text, ending: finishReason },
    thoughts: thoughts.all.reasoningContent ?? "",
    calls: calls.map(([id, name, args]) => ({ id, name, args: JSON.parse(args ?? "") })),
    usage: {
      ...{ prompt: usage?.promptTokens, cached: usage?.cachedTokens },
      ...{ completion: usage?.completionTokens, reasoning: usage?.reasoningTokens },
      ...{ total: usage?.totalTokens, estimated: usageEstimated },
    },
    stamp: stamped(),
    warnings,
  };
}
