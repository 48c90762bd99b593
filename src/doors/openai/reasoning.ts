/** What requests say of thoughts, in the object `reasoning` of OpenAI's Responses API and OpenRouter, and in others' switches, to the contract's fields. */
import type { Violation } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { fields } from "../json/known.js";
import { checkParameters, fieldsOfRules } from "./parameter-rules.js";
import { reasoningParameters } from "./parameters.js";
import { switchedEffort } from "./thinking-switches.js";

/** What a request asks for so. */
export interface ReasoningAsked {
  /** By the contract's names; absent is what it does not say. */
  readonly asked: { readonly reasoning_effort?: unknown; readonly include_reasoning?: boolean };
  /** The client's names of the fields that it says. */
  readonly names: Readonly<Record<string, string>>;
}

/** What is read of it. */
export const reasoningFields = fields({
  ...fieldsOfRules(reasoningParameters),
  ...{ effort: true, summary: true, generate_summary: true, exclude: true, enabled: true },
});

const nothing: ReasoningAsked = { asked: {}, names: {} };

/** What the switches say, of a request that says no effort otherwise. */
function bySwitch(json: JsonObject): ReasoningAsked {
  const effort = (json.reasoning_effort ?? "") === "" ? switchedEffort(json) : undefined;
  if (effort === undefined) return nothing;
  return { asked: { reasoning_effort: effort[0] }, names: { reasoning_effort: effort[1] } };
}

/** What may be asked of summaries. What there is of thoughts is told, whichever it is. */
const summaries: readonly unknown[] = ["auto", "concise", "detailed", "none"];

/**
 * Reads it. What the object says goes before the contract's own fields beside it, and these before switches.
 * @param warnings gets a line for each member that is dropped
 * @param into gets what is wrong of it, but for the effort, which is the contract's to check
 */
export function readReasoning(
  json: JsonObject,
  warnings: string[],
  into: Violation[],
): ReasoningAsked {
  const { reasoning } = json;
  if (reasoning === undefined || reasoning === null) return bySwitch(json);
  if (!isObject(reasoning)) {
    into.push({ field: "reasoning", message: "must be an object" });
    return nothing;
  }
  for (const name of ["exclude", "enabled"]) {
    if (typeof (reasoning[name] ?? false) === "boolean") continue;
    into.push({ field: `reasoning.${name}`, message: "must be true or false" });
  }
  for (const name of ["summary", "generate_summary"]) {
    if (summaries.includes(reasoning[name] ?? "auto")) continue;
    into.push({ field: `reasoning.${name}`, message: "must be one of auto, concise, detailed" });
  }
  checkParameters(reasoning, reasoningParameters, warnings, "reasoning.");
  const effort = effortOf(reasoning);
  const { asked, names } =
    effort === undefined
      ? bySwitch(json)
      : { asked: { reasoning_effort: effort }, names: { reasoning_effort: "reasoning.effort" } };
  return {
    asked: reasoning.exclude === true ? { ...asked, include_reasoning: false } : asked,
    names,
  };
}

/** `enabled` alone means OpenRouter's default; models that think little by themselves need one. */
function effortOf({ enabled, effort, max_tokens: most }: JsonObject): unknown {
  if (enabled === false) return "none";
  const said = effort ?? undefined;
  return said === undefined && enabled === true && (most ?? undefined) === undefined
    ? "medium"
    : said;
}
