/** What callers are told of their limits, in the form that OpenAI's clients read. */
import type { Rule } from "./rules.js";
import type { Standing } from "./store.js";

/**
 * Notes down the tightest limit of requests and of tokens: `limit`, `remaining`
 * and `reset`, each as `x-ratelimit-*-requests` and `x-ratelimit-*-tokens`.
 * @param rules one for each standing
 */
export function tellStandings(
  rules: readonly Rule[],
  standings: readonly Standing[],
  metadata: Map<string, string>,
): void {
  for (const quantity of ["requests", "tokens"] as const) {
    let tightest: Standing | undefined;
    let limit = 0;
    for (let i = 0; i < rules.length; i++) {
      const standing = standings[i];
      const rule = rules[i];
      if (rule?.quantity !== quantity || !standing) continue;
      if (tightest && standing.remaining >= tightest.remaining) continue;
      tightest = standing;
      limit = rule.counter.limit;
    }
    if (!tightest) continue;
    metadata.set(`x-ratelimit-limit-${quantity}`, String(limit));
    metadata.set(`x-ratelimit-remaining-${quantity}`, String(tightest.remaining));
    metadata.set(`x-ratelimit-reset-${quantity}`, durationText(tightest.resetMs));
  }
}

/** A duration as OpenAI writes it: `20ms`, `7.5s`, `6m0s`, `1h0m30s`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const tenths = Math.ceil(ms / 100);
  const hours = Math.floor(tenths / 36_000);
  const minutes = Math.floor(tenths / 600) % 60;
  const seconds = `${(tenths % 600) / 10}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
