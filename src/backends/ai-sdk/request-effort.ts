/** How much is to be thought, as a request says it to its provider. */

import type { LLMMessage } from "../../../gen/lintel/v1/chat_pb.js";
import { isJson } from "../../core/text-forms.js";
import { mustCall } from "../../core/tool-calls.js";
import { notSupported } from "../../core/warnings.js";
import { effort, signedThoughts, summaries } from "../completions/thoughts.js";
import { chatPackage } from "./chat-packages.js";
import { noSummaries, saysEffort, type Told } from "./efforts.js";
import { isV4 } from "./load.js";
import { hasClaudes } from "./replay.js";
import type { Asked, Configured } from "./request.js";

/** What is said of it: options of the provider, and by the common interface since AI SDK 7. */
export interface Effort extends Told {
  readonly common?: { readonly reasoning: string };
}

const nothing: Effort = { options: {} };

/**
 * What a provider is told of the effort; nothing where none is asked for, or the operator's own
 * options say it.
 * @param refused what the vendor has refused
 */
export function effortOf(
  call: Asked,
  { model, package: name, providerOptions }: Configured,
  refused: ReadonlySet<string>,
): Effort {
  const { request, warnings } = call;
  const { reasoningEffort, maxTokens, includeReasoning = true } = request;
  if (reasoningEffort === "" || refused.has(effort) || saysEffort(providerOptions)) return nothing;
  const { thinking, max } = chatPackage(name);
  const tooMuch = reasoningEffort === "max" ? max : undefined;
  const common = isV4(model) && tooMuch !== "options";
  const told = thinking?.({
    effort: reasoningEffort,
    model: model.modelId,
    maxTokens,
    shown: includeReasoning,
    common,
    noBudget: () => noBudget(call, model.modelId, refused),
    warn: (text) => warnings.add(`${effort}: ${text}`),
  });
  if (!told && thinking && reasoningEffort !== "none") {
    warnings.add(notSupported(effort));
  }
  const { reasoningSummary, ...options } = told?.options ?? {};
  return {
    ...told,
    options: {
      ...options,
      ...(reasoningSummary !== undefined &&
        (refused.has(summaries) ? common && noSummaries : { reasoningSummary })),
    },
    ...(common &&
      !told?.deaf &&
      (told || !thinking) && {
        common: { reasoning: tooMuch ?? reasoningEffort },
      }),
  };
}

/** Why a request can't be answered by a Claude that thinks with a budget. */
function noBudget(
  { request }: Asked,
  model: string,
  refused: ReadonlySet<string>,
): string | undefined {
  if (mustCall(request)) return "beside a forced tool_choice";
  // Where the model has no form of its own for it, a schema is a tool that has to be called.
  if (isJson(request) && !/-4[-.][15]\b/.test(model)) return "beside this response_format";
  const last = lastSaid(request.messages);
  if (!last) return undefined;
  const signed = !refused.has(signedThoughts) && hasClaudes(last.reasoningDetails ?? "");
  return signed ? undefined : "without the reasoning_details of the answer that goes on";
}

/** The answer that goes on: one that called tools, or has been begun. */
function lastSaid(messages: readonly LLMMessage[]): LLMMessage | undefined {
  const last = messages.findLast(({ role, toolCallId }) => role !== "tool" || toolCallId === "");
  return last?.role === "assistant" ? last : undefined;
}
