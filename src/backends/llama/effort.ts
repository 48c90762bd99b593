/** How much a model thinks, as chat templates are told of it. */

/** From the least to the most; besides, `none` is nothing at all. */
const levels = ["minimal", "low", "medium", "high", "xhigh", "max"];

/** What Hy3's template calls nothing at all. */
const hyNone = "no_think";

/** What models were trained with whose templates only write the word, as gpt-oss'. */
const usual = ["low", "medium", "high"];

/**
 * The efforts that a template tells apart: those that it names, where there are several; one alone
 * is what it takes where nothing is said.
 */
export function effortsOf(template: string): readonly string[] {
  const named = ["none", hyNone, ...levels].filter((it) =>
    new RegExp(`(['"])${it}\\1`).test(template),
  );
  return named.length > 1 ? named : usual;
}

/**
 * The variables by which templates are told.
 * @param effort as in the contract; empty: they are told nothing
 * @param efforts that the template tells apart
 */
export function effortFields(effort: string, efforts: readonly string[] = usual): object {
  if (effort === "") return {};
  const thinks = effort !== "none";
  const told = efforts.includes(effort) ? effort : nearest(effort, efforts);
  return {
    // As Qwen's, GLM's and others call it.
    enable_thinking: thinks,
    // As DeepSeek's, Granite's and Kimi's.
    thinking: thinks,
    // As MiniMax-M3's.
    thinking_mode: thinks ? "enabled" : "disabled",
    // As gpt-oss' and others.
    reasoning_effort: told,
    // As Muse Glimmer's.
    reasoning_strength: told,
    // As Kimi K3's.
    thinking_effort: told,
  };
}

/** The next effort; of two that are as near, the greater one. */
function nearest(effort: string, efforts: readonly string[]): string | undefined {
  if (effort === "none" && efforts.includes(hyNone)) return hyNone;
  const wanted = levels.indexOf(effort);
  const distance = (level: string) => Math.abs(levels.indexOf(level) - wanted);
  return levels
    .filter((level) => efforts.includes(level))
    .reduce<string | undefined>(
      (best, level) => (best === undefined || distance(level) <= distance(best) ? level : best),
      undefined,
    );
}
