/** Settings that are to be at most as large as another one, and are larger. */
import type { Config } from "./schema.js";

/** A line for each. */
export function orderWarnings({ routing, idempotency, cache, state }: Config): string[] {
  const { retry, health } = routing;
  const pauses = "pauses do not grow from one to the other";
  const room = "an answer above that is not kept";
  const pairs: [string, number, string, number, string][] = [
    ["routing.retry.first_pause", retry.first_pause, "longest_pause", retry.longest_pause, pauses],
    [
      "routing.health.first_pause",
      health.first_pause,
      "longest_pause",
      health.longest_pause,
      pauses,
    ],
  ];
  // In Redis there is the room that it has.
  if (!state.redis && idempotency.enabled) {
    const { max_answer, max_bytes } = idempotency;
    pairs.push(["idempotency.max_answer", max_answer, "max_bytes", max_bytes, room]);
  }
  if (!cache.redis) {
    pairs.push(["cache.max_answer", cache.max_answer, "max_bytes", cache.max_bytes, room]);
  }
  return pairs
    .filter(([, one, , other]) => one > other)
    .map(([name, , other, , what]) => `${name} is more than ${other}: ${what}`);
}
