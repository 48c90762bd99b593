/** What becomes of requests of which a provider leaves something out. */
import type { SharedV3Warning } from "@ai-sdk/provider";
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../core/call.js";
import { chatDefaults } from "../../core/defaults.js";
import { unsupported } from "../../core/errors.js";
import { chosenForChat } from "../completions/refusals/asking.js";
import { neededBy } from "../completions/refusals/refusal.js";
import { effort, summaries } from "../completions/thoughts.js";
import { readWarning } from "./warnings.js";

type ChatCall = Call<"chat"> | Call<"complete">;

/** Fields that a provider leaves out of every request; of others it may depend on their neighbours. */
const lasting: ReadonlySet<string> = new Set([
  ...["top_k", "seed", "stop", "tools"],
  ...["frequency_penalty", "presence_penalty"],
]);

const formatNamed = (type: string | undefined) => `response_format ${type}`;

/** JSON without a schema, where it is remembered that it is left out. */
export const jsonObject = formatNamed("json_object");

/**
 * Fields that a caller is not served without, and under which names it is remembered that they are
 * left out: of a choice that is no must, or of the other form, that says nothing.
 */
function namesOfNeeded(request: LLMRequest): ReadonlyMap<string, string> {
  const names: Readonly<Record<string, string>> = {
    tool_choice: "forced tool_choice",
    response_format: formatNamed(request.responseFormat?.type),
  };
  return new Map(neededBy(request).map((field) => [field, names[field] ?? field]));
}

/**
 * Refuses what the provider is known to leave out.
 * @param lost what it left out before
 * @throws LintelError `unsupported_parameter`
 */
export function refuseLost(lost: ReadonlySet<string>, call: ChatCall): void {
  if (lost.size === 0) return;
  for (const [field, name] of namesOfNeeded(call.request)) {
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
  const needed = namesOfNeeded(request);
  const defaults: Readonly<Record<string, boolean>> = {
    temperature: request.temperature === chatDefaults.temperature,
    max_tokens: request.maxTokens === chatDefaults.maxTokens,
    frequency_penalty: !chosenForChat(call, "frequency_penalty"),
    presence_penalty: !chosenForChat(call, "presence_penalty"),
    tool_choice: request.toolChoice?.type === "auto",
    [effort]: !chosenForChat(call, effort),
    // Asked for with the effort, of which the same is said.
    [summaries]: request.reasoningEffort !== "",
    // One is asked for where nobody wants any.
    top_logprobs: !request.topLogprobs,
  };
  for (const { fields, ignored, thinking, another, text } of said.map(readWarning)) {
    for (const field of ignored ? fields : []) {
      const lasts = (lasting.has(field) && !thinking) || (field === effort && !another);
      const name = needed.get(field) ?? (lasts ? field : undefined);
      if (name !== undefined) learn(name);
      const meant = meantBy(field, needed);
      if (needed.has(meant)) unlessIgnored(meant, call);
    }
    // Who does not think by itself does what was asked.
    const idle = request.reasoningEffort === "none" && fields.includes(effort) && !another;
    if (!idle && !fields.some((field) => defaults[field])) warnings.add(text);
  }
}

/** Anthropic's provider gets JSON by a tool of its own, which has to be called, of some models, or by some schemas. */
const meantBy = (field: string, needed: ReadonlyMap<string, string>): string =>
  field === "tool_choice" && !needed.has(field) && needed.has("response_format")
    ? "response_format"
    : field;

function unlessIgnored(field: string, { modelSettings }: ChatCall): void {
  if (modelSettings?.unsupported === "ignore") return;
  throw unsupported(field);
}
