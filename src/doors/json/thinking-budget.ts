/** Budgets of thoughts, as Anthropic's and Google's clients have them, as efforts. */

/** Budgets, in tokens, up to which an effort is meant. */
const budgets: readonly (readonly [most: number, effort: string])[] = [
  [2048, "low"],
  [8192, "medium"],
];

/** The `reasoning_effort` that a budget of so many tokens stands for. */
export const effortOfBudget = (tokens: number): string =>
  budgets.find(([most]) => tokens <= most)?.[1] ?? "high";
