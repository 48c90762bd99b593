/** Switches that other vendors' requests have for what a model thinks, to the contract's effort. */
import { isObject, type JsonObject } from "../../core/json.js";
import { fields } from "../json/known.js";
import { effortOfBudget } from "../json/thinking-budget.js";

/** What is read of a request for them. */
export const switchFields = {
  thinking: fields({ type: true, budget_tokens: true }),
  enable_thinking: true,
  thinking_budget: true,
  think: true,
  chat_template_kwargs: fields({ enable_thinking: true, thinking: true, reasoning_effort: true }),
} as const;

/** An effort, and where the client says it; `undefined`: nowhere. */
type Switched = readonly [effort: string, at: string] | undefined;

/**
 * Reads them: `thinking` of DeepSeek, Z.ai, Moonshot and Anthropic's form for OpenAI's clients,
 * `enable_thinking` of Alibaba, `think` of Ollama, and `chat_template_kwargs`, by which clients of vLLM and SGLang tell
 * a model's template. A switch that says nothing known is no fault: others' servers took it, too. A template's
 * effort is checked as the contract's own.
 */
export function switchedEffort(json: JsonObject): Switched {
  const { thinking, enable_thinking: enabled, chat_template_kwargs: told } = json;
  const type = isObject(thinking) ? thinking.type : thinking;
  const budget = isObject(thinking) ? thinking.budget_tokens : undefined;
  return (
    switched(switches.get(type), budget, "thinking") ??
    switched(switches.get(enabled), json.thinking_budget, "enable_thinking") ??
    inOllama(json.think) ??
    (isObject(told) ? inTemplate(told) : undefined)
  );
}

/** What a switch may say. */
const switches: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [true, true],
  [false, false],
  ["enabled", true],
  ["disabled", false],
]);

/** Who turns thoughts on without a budget means `medium`, as with OpenRouter's `reasoning.enabled`. */
function switched(on: boolean | undefined, budget: unknown, at: string): Switched {
  if (on === undefined) return undefined;
  if (!on || budget === 0) return ["none", at];
  return [typeof budget === "number" && budget > 0 ? effortOfBudget(budget) : "medium", at];
}

/** Of some models Ollama takes an effort for it. */
function inOllama(think: unknown): Switched {
  return think === "low" || think === "medium" || think === "high"
    ? [think, "think"]
    : switched(switches.get(think), undefined, "think");
}

function inTemplate(told: JsonObject): Switched {
  const at = "chat_template_kwargs";
  const { reasoning_effort: effort, enable_thinking: enabled, thinking } = told;
  if (typeof effort === "string" && effort !== "") return [effort, `${at}.reasoning_effort`];
  return (
    switched(switches.get(enabled), undefined, `${at}.enable_thinking`) ??
    switched(switches.get(thinking), undefined, `${at}.thinking`)
  );
}
