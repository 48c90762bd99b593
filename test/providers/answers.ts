/** What answers come to. */
import type { Backend } from "../../src/core/backend.js";
import type { Call, Handle } from "../../src/core/call.js";
import { Thoughts } from "../../src/core/reasoning.js";
import { asked } from "../backends/ai-sdk-calls.js";

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

/** Listens to a backend's answers. */
function stampsOf({ handlers }: Backend, method: Method) {
  const handle = handlers[method] as unknown as Handle<"chat">;
  let last: { id: string; model: string } | undefined;
  Object.assign(handlers, {
    async *[method](call: Call<"chat">) {
      for await (const step of handle(call)) {
        const { id, model } = step.at(-1) ?? {};
        if (id !== undefined && model !== undefined) last = { id, model };
        yield step;
      }
    },
  });
  return () => last;
}
