/** Requests for completions, as the AI SDK's common interface has them. */
import type { LanguageModelV3CallOptions, LanguageModelV3Message } from "@ai-sdk/provider";
import type { LLMMessage } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../core/call.js";
import { traceHeaders } from "../../core/telemetry.js";
import { withoutBlank } from "../completions/blank.js";

/** Fields that a vendor may refuse and that a request can go without. */
export const optionalFields = ["temperature", "top_p", "top_k", "seed"] as const;

/** A request without what the vendor refuses. `signal` is the call's, or aborts with it. */
export function optionsOf(
  call: Call<"chat"> | Call<"complete">,
  providerOptions: Record<string, Record<string, unknown>>,
  refused: ReadonlySet<string>,
  signal: AbortSignal,
): LanguageModelV3CallOptions {
  const { request, id } = call;
  const { temperature, topP, topK = -1, maxTokens, seed, stop } = request;
  const takes = (field: (typeof optionalFields)[number]) => !refused.has(field);
  return {
    prompt: withoutBlank(request.messages).map(promptOf),
    ...(temperature !== undefined && takes("temperature") && { temperature }),
    // Some models refuse top_p beside temperature; at 1 it changes nothing.
    ...(topP !== undefined && topP < 1 && takes("top_p") && { topP }),
    ...(topK >= 1 && takes("top_k") && { topK }),
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(seed !== undefined && seed >= 0n && takes("seed") && { seed: Number(seed) }),
    ...(stop.length > 0 && { stopSequences: stop }),
    headers: { "x-request-id": id, ...traceHeaders(call) },
    abortSignal: signal,
    providerOptions: providerOptions as NonNullable<LanguageModelV3CallOptions["providerOptions"]>,
  };
}

/** The contract's messages carry text only: what a tool said is told as the user's. */
function promptOf({ role, content }: LLMMessage): LanguageModelV3Message {
  if (role === "system" || role === "developer") return { role: "system", content };
  return {
    role: role === "assistant" ? "assistant" : "user",
    content: [{ type: "text", text: content }],
  };
}
