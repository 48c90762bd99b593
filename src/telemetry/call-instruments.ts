/** Everything that is counted and measured of calls. */
import { Counter, Histogram } from "./instruments.js";

// The boundaries are those that the conventions ask for.
const durations = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
const firstTokens = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];
const tokenTimes = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const tokenCounts = Array.from({ length: 14 }, (_, i) => 4 ** i);

/** The instruments, without a value. */
export function callInstruments() {
  return {
    requests: counter("lintel.requests", "{request}", "Calls, by how they ended."),
    attempts: counter("lintel.attempts", "{request}", "Questions to backends."),
    retries: counter(
      "lintel.retries",
      "{request}",
      "Questions to backends because an earlier one failed or was slow.",
    ),
    replays: counter(
      "lintel.replays",
      "{request}",
      "Calls that got the first answer to their Idempotency-Key.",
    ),
    cache: counter(
      "lintel.cache.requests",
      "{request}",
      "Calls of models whose answers are kept, by what came of it.",
    ),
    cacheTokens: counter(
      "lintel.cache.tokens",
      "{token}",
      "Tokens of kept answers and of their prompts, which no model server was asked for.",
    ),
    refusals: counter("lintel.limit.refusals", "{request}", "Calls that a limit refused."),
    guards: counter(
      "lintel.guard.findings",
      "{request}",
      "Calls in whose texts a guard found something, or at which it failed to look.",
    ),
    safety: counter(
      "lintel.safety.failures",
      "{request}",
      "Calls for images at which the safety checker failed.",
    ),
    images: counter("lintel.images", "{image}", "Images that callers got."),
    queued: histogram(
      "lintel.queue.duration",
      "s",
      "How long calls waited for room at a target, of those that waited.",
      durations,
    ),
    serverDuration: histogram(
      "gen_ai.server.request.duration",
      "s",
      "Duration of calls, as callers see it.",
      durations,
    ),
    firstToken: histogram(
      "gen_ai.server.time_to_first_token",
      "s",
      "Time to the first piece of streamed answers.",
      firstTokens,
    ),
    perToken: histogram(
      "gen_ai.server.time_per_output_token",
      "s",
      "Time per token after the first of streamed answers.",
      tokenTimes,
    ),
    clientDuration: histogram(
      "gen_ai.client.operation.duration",
      "s",
      "Duration of questions to backends.",
      durations,
    ),
    firstChunk: histogram(
      "gen_ai.client.operation.time_to_first_chunk",
      "s",
      "Time to the first piece that a backend streamed.",
      durations,
    ),
    tokenUsage: histogram(
      "gen_ai.client.token.usage",
      "{token}",
      "Tokens of calls, by input and output.",
      tokenCounts,
    ),
    mirrorCalls: counter(
      "lintel.mirror.calls",
      "{request}",
      "Calls that mirrors got as well, by how they ended there.",
    ),
    mirrorPassedOver: counter(
      "lintel.mirror.passed_over",
      "{request}",
      "Calls that mirrors were to get as well, and did not.",
    ),
    mirrorDuration: histogram(
      "lintel.mirror.duration",
      "s",
      "Duration of mirrored calls.",
      durations,
    ),
    mirrorFirstChunk: histogram(
      "lintel.mirror.time_to_first_chunk",
      "s",
      "Time to the first piece that a mirror streamed.",
      durations,
    ),
    mirrorTokens: counter(
      "lintel.mirror.tokens",
      "{token}",
      "Tokens of mirrored calls, by input and output.",
    ),
    mirrorCachedTokens: counter(
      "lintel.mirror.cached_tokens",
      "{token}",
      "Tokens of mirrored prompts that model servers had in a cache.",
    ),
    mirrorCacheWriteTokens: counter(
      "lintel.mirror.cache_write_tokens",
      "{token}",
      "Tokens of mirrored prompts that model servers wrote to a cache.",
    ),
    mirrorReasoningTokens: counter(
      "lintel.mirror.reasoning_tokens",
      "{token}",
      "Tokens of mirrors' completions that are thoughts.",
    ),
    mirrorImages: counter("lintel.mirror.images", "{image}", "Images that mirrors made."),
    mirrorSpend: counter(
      "lintel.mirror.spend",
      "{unit}",
      "What mirrored calls cost, in the unit of the price table.",
    ),
    cachedTokens: counter(
      "lintel.cached_tokens",
      "{token}",
      "Tokens of prompts that model servers had in a cache.",
    ),
    cacheWriteTokens: counter(
      "lintel.cache_write_tokens",
      "{token}",
      "Tokens of prompts that model servers wrote to a cache.",
    ),
    reasoningTokens: counter(
      "lintel.reasoning_tokens",
      "{token}",
      "Tokens of completions that are thoughts.",
    ),
  };
}

const counter = (name: string, unit: string, description: string) =>
  new Counter({ name, unit, description });

const histogram = (
  name: string,
  unit: string,
  description: string,
  boundaries: readonly number[],
) => new Histogram({ name, unit, description }, boundaries);
