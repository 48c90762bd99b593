/** What becomes of requests of which a provider leaves something out. */

import type { SharedV3Warning } from "@ai-sdk/provider";
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../core/call.js";
import { chatDefaults } from "../../core/defaults.js";
import { LintelError } from "../../core/errors.js";
import { mustCall } from "../../core/tool-calls.js";
import { readWarning } from "./warnings.js";

type ChatCall = Call<"chat"> | Call<"complete">;

/** Fields that a provider leaves out of every request; of others it may depend on their neighbours. */
const lasting: ReadonlySet<string> = new Set(["top_k", "seed", "stop", "tools"]);

/**
 * Fields that a caller is not served without, and under which names it is remembered that they are
 * left out: of a choice that is no must, or of the other form, that says nothing.
 */
function neededBy(request: LLMRequest): ReadonlyMap<string, string> {
  const { type = "text" } = request.responseFormat ?? {};
  return new Map([
    ...(request.stop.length > 0 ? [["stop", "stop"] as const] : []),
    ...(mustCall(request)
      ? [["tools", "tools"] as const, ["tool_choice", "forced tool_choice"] as const]
      : []),
    ...(type === "text" ? [] : [["response_format", `response_format ${type}`] as const]),
  ]);
}

/**
 * Refuses what the provider is known to leave out.
 * @param lost what it left out before
 * @throws LintelError `unsupported_parameter`
 */
export function refuseLost(lost: ReadonlySet<string>, call: ChatCall): void {
  if (lost.size === 0) return;
  for (const [field, name] of neededBy(call.request)) {
    if (lost.has(name)) unlessIgnored(field, call);
  }
}

/**
 * Warns of what the provider left out, unless it is a default that nobody asked for. From the
 * next call on that is known; the one that finds it out is not served without what it needs either.
 * @throws LintelError `unsupported_parameter`
 */
export function heed(
  { learn }: { learn(field: string): void },
  call: ChatCall,
  said: readonly SharedV3Warning[],
): void {
  if (said.length === 0) return;
  const { request, warnings } = call;
  const needed = neededBy(request);
  const defaults: Readonly<Record<string, boolean>> = {
    temperature: request.temperature === chatDefaults.temperature,
    max_tokens: request.maxTokens === chatDefaults.maxTokens,
    tool_choice: request.toolChoice?.type === "auto",
  };
  for (const { fields, ignored, text } of said.map(readWarning)) {
    for (const field of ignored ? fields : []) {
      const name = needed.get(field) ?? (lasting.has(field) ? field : undefined);
      if (name !== undefined) learn(name);
      const meant = meantBy(field, needed);
      if (needed.has(meant)) unlessIgnored(meant, call);
    }
    if (!fields.some((field) => defaults[field])) warnings.add(text);
  }
}

/** Anthropic's provider gets JSON by a tool of its own, which has to be called, of some models, or by some schemas. */
const meantBy = (field: string, needed: ReadonlyMap<string, string>): string =>
  field === "tool_choice" && !needed.has(field) && needed.has("response_format")
    ? "response_format"
    : field;

function unlessIgnored(field: string, { modelSettings }: ChatCall): void {
  if (modelSettings?.unsupported === "ignore") return;
  throw new LintelError("unsupported_parameter", `${field}: this model does not support it`, {
    param: field,
  });
}
