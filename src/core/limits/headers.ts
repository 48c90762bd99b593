/** What callers are told of their limits, in the form that OpenAI's clients read. */
import type { Rule } from "./rules.js";
import type { Standing } from "./store.js";

/** The headers, by what they are about. Made once: they are told with every call. */
export const standingHeaders = (["requests", "tokens"] as const).map((quantity) => ({
  quantity,
  limit: `x-ratelimit-limit-${quantity}`,
  remaining: `x-ratelimit-remaining-${quantity}`,
  reset: `x-ratelimit-reset-${quantity}`,
}));

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
  for (const names of standingHeaders) {
    let tightest: Standing | undefined;
    let limit = 0;
    for (let i = 0; i < rules.length; i++) {
      const standing = standings[i];
      const rule = rules[i];
      if (rule?.quantity !== names.quantity || !standing) continue;
      if (tightest && standing.remaining >= tightest.remaining) continue;
      tightest = standing;
      limit = rule.counter.limit;
    }
    if (!tightest) continue;
    metadata.set(names.limit, String(limit));
    metadata.set(names.remaining, String(tightest.remaining));
    metadata.set(names.reset, durationText(tightest.resetMs));
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
