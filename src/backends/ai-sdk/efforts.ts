/** How much models shall think, as providers' packages are told. */
import { isObject, type JsonObject } from "../../core/json.js";

/** What is asked, and of whom. */
export interface Asked {
  /** The contract's word: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`. */
  readonly effort: string;
  /** Name of the model at its vendor. */
  readonly model: string;
  /** Most tokens of the answer, its thoughts among them; absent: as the model does. */
  readonly maxTokens: number | undefined;
  /** Whether the caller wants to see what is thought. */
  readonly shown: boolean;
  /** Whether the effort itself goes by the common interface: AI SDK 7 has a word for it. */
  readonly common: boolean;
  /** Why a budget for thoughts would be refused; absent: it would not. Asked for where one is needed. */
  noBudget(): string | undefined;
  /** Tells the caller what becomes of the effort. */
  warn(text: string): void;
}

/** What a provider is told. */
export interface Told {
  readonly options: Readonly<Record<string, unknown>>;
  /** Most tokens of the answer as this provider counts them, where that is another number. */
  readonly maxTokens?: number;
  /** Whether the provider has no ear for the common interface's word, or none that serves. Default: no. */
  readonly deaf?: boolean;
}

/** Says to a provider what is asked; nothing where its model does not think. */
export type Thinking = (asked: Asked) => Told | undefined;

const scale = ["minimal", "low", "medium", "high", "xhigh", "max"];

/** The nearest of the words that are known: a lesser one, else a greater; `none` is no lesser one. */
export function nearest(effort: string, known: readonly string[]): string {
  if (known.includes(effort)) return effort;
  const at = scale.indexOf(effort);
  const order = [...scale.slice(0, Math.max(at, 0)).reverse(), ...scale.slice(at + 1)];
  return order.find((word) => known.includes(word)) ?? effort;
}

/** By the option that most have. @param known the words that it takes. Default: all */
export const levels =
  (...known: readonly string[]): Thinking =>
  ({ effort, common }) => ({
    options: common
      ? {}
      : { reasoningEffort: known.length === 0 ? effort : nearest(effort, known) },
  });

/**
 * OpenAI shows no more than summaries, and these where they are asked for. By the common interface its provider
 * says nothing where a model does not think, and asks for summaries by itself.
 */
export const openai: Thinking = ({ effort, model, common, shown }) => ({
  deaf: true,
  options: {
    reasoningEffort: nearest(effort, openaiLevels(model)),
    ...(shown && effort !== "none" ? { reasoningSummary: "auto" } : common && noSummaries),
  },
});

/** Said to a provider of OpenAI's that would ask for summaries by itself. */
export const noSummaries = { reasoningSummary: null };

/** By the model's name; of those that say nothing, such as deployments of Azure, the vendor knows. */
function openaiLevels(model: string): readonly string[] {
  const usual = ["low", "medium", "high"];
  if (/^o\d/.test(model)) return usual;
  const [, major, minor = "0"] = /^gpt-(\d+)(?:\.(\d+))?/.exec(model) ?? [];
  const version = Number(major) + Number(minor) / 10;
  if (version === 5) return ["minimal", ...usual];
  if (version > 5 && version < 6) {
    const more = version > 5.1 || model.includes("codex-max") ? ["xhigh"] : [];
    return ["none", ...usual, ...more, ...(version > 5.5 ? ["max"] : [])];
  }
  if (!(version >= 6)) return ["none", ...scale];
  const none = /^gpt-(?:6-sol|6-luna|6\.1-terra)\b/.test(model) ? ["none"] : [];
  return [...none, ...usual, "xhigh", "max"];
}

/** Qwen's models have their thoughts in the text if not told otherwise, and Qwen 3 knows no levels. */
export const groq: Thinking = ({ effort, model, common }) => {
  const off = effort === "none";
  const switched = /qwen-?3-/i.test(model);
  const word = off || !switched ? nearest(effort, groqLevels(model)) : "default";
  return {
    options: {
      ...((switched || !common) && { reasoningEffort: word }),
      ...(/qwen/i.test(model) && !off && { reasoningFormat: "parsed" }),
    },
  };
};

/** OpenAI's open models always think. */
const groqLevels = (model: string) => [
  ...(/gpt-oss/i.test(model) ? [] : ["none"]),
  ...["low", "medium", "high"],
];

const typed = (effort: string) => ({ type: effort === "none" ? "disabled" : "enabled" });

const unlessCommon =
  (options: (asked: Asked) => Told["options"]): Thinking =>
  (asked) => ({ options: asked.common ? {} : options(asked) });

/** Mistral's options, unless the effort goes by the common interface. */
export const mistral = unlessCommon(({ effort }) => ({
  reasoningEffort: effort === "none" ? "none" : "high",
}));

/** Cohere's options, unless the effort goes by the common interface. */
export const cohere = unlessCommon(({ effort }) => ({ thinking: typed(effort) }));

/** Alibaba's options, unless the effort goes by the common interface. */
export const alibaba = unlessCommon(({ effort }) => ({ enableThinking: effort !== "none" }));

/** Perplexity's options; the word of the common interface its provider refuses. */
export const perplexity: Thinking = ({ effort }) => ({
  deaf: true,
  options: { reasoning_effort: nearest(effort, ["minimal", "low", "medium", "high"]) },
});

/** Hugging Face's option; its provider passes over the word of the common interface. */
export const huggingface: Thinking = ({ effort }) => ({
  deaf: true,
  options: { reasoningEffort: effort },
});

/** DeepSeek's options, unless the effort goes by the common interface. */
export const deepseek = unlessCommon(({ effort }) => ({
  thinking: typed(effort),
  ...(effort !== "none" && {
    reasoningEffort: nearest(effort, ["low", "medium", "high", "xhigh", "max"]),
  }),
}));

/** Kimi K3 always thinks, and knows how much; those before are switched on and off. */
export const moonshot: Thinking = ({ effort, model, common }) => {
  const switched = /\bk2/i.test(model);
  // Of one that always thinks its provider leaves `none` out, and it thinks as much as ever.
  if (common && (switched || effort !== "none")) return { options: {} };
  const options = switched
    ? { thinking: typed(effort) }
    : { reasoningEffort: nearest(effort, ["low", "high", "max"]) };
  return { options, deaf: true };
};

/** How much of the answer is for thoughts, where that is to be said in tokens. */
const shares: Readonly<Record<string, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.9,
  max: 0.95,
};

/** Tokens for thoughts. @param maxTokens of all the answer */
export const budgetOf = (effort: string, maxTokens: number): number =>
  Math.round(maxTokens * (shares[effort] ?? 0));

/** Most tokens of an answer, where nobody says. */
export const usualTokens = 16_384;

/** Gemini 3 and later know levels, 2.5 a budget, and those before don't think. */
export const gemini: Thinking = (asked) => {
  const { effort, model, common, shown } = asked;
  const [, major = "", minor] = /gemini-(\d+)(?:\.(\d+))?/i.exec(model) ?? [];
  if (major === "1" || (major === "2" && minor !== "5")) return undefined;
  const how = major === "2" ? { thinkingBudget: geminiBudget(asked) } : geminiLevel(effort, model);
  const off = effort === "none";
  return {
    options: {
      thinkingConfig: {
        ...(common && major !== "2" ? {} : how),
        // Where nothing is thought, asking to see it is refused.
        ...(shown && !off && { includeThoughts: true }),
      },
    },
  };
};

/** Its thoughts are a part of its tokens, which the provider does not heed. */
function geminiBudget({ effort, model, maxTokens = usualTokens }: Asked): number {
  const pro = /pro/i.test(model);
  if (effort === "none") return pro ? 128 : 0;
  const least = pro ? 128 : /lite/i.test(model) ? 512 : 1;
  return Math.min(Math.max(budgetOf(effort, maxTokens), least), pro ? 32_768 : 24_576);
}

const geminiLevel = (effort: string, model: string) => ({
  thinkingLevel: nearest(effort, [
    ...(/flash/i.test(model) ? ["minimal"] : []),
    ...["low", "medium", "high"],
  ]),
});

const efforts = /^(?:reasoning_?effort|effort|enable_?thinking|thinking_?budget)$/i;
const configs = /^(?:reasoning|thinking|thinkingConfig|reasoningConfig)$/;
const members = [
  ...["type", "effort", "enabled", "thinkingLevel", "thinkingBudget"],
  ...["budgetTokens", "tokenBudget", "maxReasoningEffort"],
];

/** Whether the operator's options say how much is thought. */
export const saysEffort = (providerOptions: Readonly<Record<string, JsonObject>>): boolean =>
  Object.values(providerOptions).some((options) =>
    Object.entries(options).some(
      ([name, value]) =>
        efforts.test(name) ||
        (configs.test(name) && isObject(value) && members.some((member) => member in value)),
    ),
  );
