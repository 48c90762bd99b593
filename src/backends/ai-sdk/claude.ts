/** How much Claude thinks, by Anthropic's provider and by Bedrock's. */
import { type Asked, budgetOf, nearest, type Thinking, type Told, usualTokens } from "./efforts.js";

/** What becomes of an effort, before it is written as a provider wants it. */
type Way =
  | { readonly type: "disabled" }
  | { readonly type: "enabled"; readonly budgetTokens: number }
  /** It sees by itself how much to think, and is told how eagerly. */
  | { readonly type: "adaptive"; readonly effort: string }
  /** It can't be kept from thinking. */
  | { readonly type: undefined; readonly effort: string };

/** Fewest tokens of a budget. */
const least = 1024;

/** Claude's version, such as 4.6; 0 before 3.7, and where the name is none of Claude's. */
function versionOf(model: string): number {
  if (!model.includes("claude-")) return 0;
  if (/claude-(?:\d|v\d|instant)/.test(model)) return /claude-3[-.]7/.test(model) ? 3.7 : 0;
  const [, major, minor = "0"] = /claude-[a-z]+-(\d+)(?:[-.](\d{1,2})(?!\d))?/.exec(model) ?? [];
  return major === undefined ? Number.POSITIVE_INFINITY : Number(major) + Number(minor) / 10;
}

/** @param write how the provider is told, with the effort's name there */
function told(asked: Asked, write: (way: Way) => Told["options"]): Told | undefined {
  const { effort, model, maxTokens = usualTokens, noBudget, warn } = asked;
  const version = versionOf(model);
  // Others' models by Anthropic's API have budgets.
  if (version === 0 && model.includes("claude-")) return undefined;
  if (effort === "none") {
    const tireless = /claude-(?:opus-5-5|fable)/.test(model);
    return { options: write(tireless ? { type: undefined, effort: "low" } : { type: "disabled" }) };
  }
  if (version >= 4.6) {
    const words = ["low", "medium", "high", ...(version > 4.6 ? ["xhigh"] : []), "max"];
    return { options: write({ type: "adaptive", effort: nearest(effort, words) }) };
  }
  const reason = noBudget();
  if (reason !== undefined) {
    warn(`not supported ${reason}, ignored`);
    return { options: write({ type: "disabled" }) };
  }
  if (maxTokens < 2 * least) {
    warn(
      `thoughts come on top of max_tokens, since this model has at least ${least} tokens for them`,
    );
    return { options: write({ type: "enabled", budgetTokens: least }) };
  }
  const budgetTokens = Math.min(Math.max(budgetOf(effort, maxTokens), least), maxTokens - least);
  // The provider adds the budget to it.
  return {
    options: write({ type: "enabled", budgetTokens }),
    maxTokens: maxTokens - budgetTokens,
  };
}

/** By Anthropic's provider, for all that speaks its API. */
export const claude: Thinking = (asked) =>
  told(asked, (way) => ({
    ...(way.type === "adaptive" && { thinking: { type: way.type, display: displayOf(asked) } }),
    ...((way.type === "enabled" || (way.type === "disabled" && !isToldNone(asked))) && {
      thinking: way,
    }),
    ...("effort" in way && !asked.common && { effort: way.effort }),
  }));

/** By the common interface a provider also knows whom it can't keep from thinking. */
const isToldNone = ({ common, effort }: Asked) => common && effort === "none";

/** Newer models don't tell their thoughts unless they are asked to. */
const displayOf = ({ shown }: Asked) => (shown ? "summarized" : "omitted");

/** By Bedrock's. Of others' models there it knows OpenAI's and Amazon's own. */
export const claudeOnBedrock: Thinking = (asked) => {
  const { effort, model, common } = asked;
  const word = nearest(effort, ["low", "medium", "high"]);
  if (/\bopenai\./.test(model)) {
    return { options: common ? {} : { reasoningConfig: { maxReasoningEffort: word } } };
  }
  if (/\bnova-2/.test(model)) {
    const how =
      effort === "none" ? { type: "disabled" } : { type: "enabled", maxReasoningEffort: word };
    return { options: common ? {} : { reasoningConfig: how } };
  }
  if (!model.includes("claude-")) return undefined;
  return told(asked, (way) => {
    const { type } = way;
    if (type === "enabled" || type === "disabled") return { reasoningConfig: way };
    return {
      reasoningConfig: {
        ...(type && { type, display: displayOf(asked) }),
        ...(!common && { maxReasoningEffort: way.effort }),
      },
    };
  });
};
