/** Where calls go: targets of models, retries, health, queues, time-outs. */
import * as z from "zod";
import { type PassHeaders, passesNone } from "../core/routing/pass-headers.js";
import { type RoutingSettings, routingDefaults } from "../core/routing/settings.js";
import { name } from "./fields.js";
import { lowerHeaderName } from "./http-fields.js";
import { hedge, hedgeOf, maxInFlight, type Timeouts, timesOf } from "./model-routing.js";
import { spelled, wait, waitOrNone } from "./quantities.js";

/** A share of 1. */
const share = () => z.number().min(0).max(1);

const { queue, retry, health } = routingDefaults;

/** The part `routing` of the configuration. */
export const routingSchema = z.strictObject({
  affinity: z
    .enum(["key", "conversation"])
    .default(routingDefaults.affinity)
    .describe(
      "Which calls go to the same target, which keeps its prefix cache warm: those with the same prompt_cache_key, or also those without one whose conversation begins alike.",
    ),
  affinity_header: z
    .union([lowerHeaderName, z.array(lowerHeaderName)], {
      error: "must be the name of an HTTP header, or a list of such",
    })
    .prefault([...routingDefaults.affinityHeaders])
    .transform((value) => (Array.isArray(value) ? value : [value]))
    .describe(
      "Before that, calls with the same value of this header, or RPC metadata, go to the same target; of a list the first that a call has.",
    ),
  max_in_flight: maxInFlight,
  queue: z
    .strictObject({
      size: z
        .int()
        .min(0)
        .max(100_000)
        .default(queue.size)
        .describe("Most calls that wait for one target; further ones are refused."),
      timeout: wait.prefault(spelled(queue.timeoutMs)).describe("Longest time that a call waits."),
    })
    .prefault({})
    .describe("Calls that wait for a target with room, each caller in turn."),
  retry: z
    .strictObject({
      attempts: z
        .int()
        .min(1)
        .max(10)
        .default(retry.attempts)
        .describe("Most attempts of one call, the first included."),
      budget: share()
        .default(retry.budget)
        .describe("Further attempts may be this share of all requests."),
      floor: z
        .int()
        .min(0)
        .default(retry.floor)
        .describe("Further attempts within the window that are allowed besides."),
      window: wait.prefault(spelled(retry.windowMs)).describe("Time over which the budget counts."),
      first_pause: waitOrNone
        .prefault(spelled(retry.firstPauseMs))
        .describe("Pause before a target is asked again; doubles each time. Half of it is chance."),
      longest_pause: waitOrNone
        .prefault(spelled(retry.longestPauseMs))
        .describe("Longest such pause."),
      blocked: z
        .boolean()
        .default(retry.blocked)
        .describe(
          "Whether another target is asked where a model server's moderation refuses a prompt, or blocks an answer of which nothing was said.",
        ),
    })
    .prefault({})
    .describe("When a call is tried again, before its first message."),
  health: z
    .strictObject({
      failures: z
        .int()
        .min(1)
        .default(health.failures)
        .describe("Failures in a row that take a target out."),
      failure_rate: share()
        .gt(0)
        .default(health.failureRate)
        .describe("Share of failures in the window that does so too."),
      samples: z
        .int()
        .min(1)
        .default(health.samples)
        .describe("Requests that the window must have for that."),
      window: wait.prefault(spelled(health.windowMs)).describe("Time over which the share counts."),
      first_pause: wait
        .prefault(spelled(health.firstPauseMs))
        .describe("How long it stays out until one call tries it; doubles when that fails."),
      longest_pause: wait.prefault(spelled(health.longestPauseMs)).describe("Longest such pause."),
      check: z
        .strictObject({
          interval: wait.prefault("10s").describe("How often a backend is asked."),
          timeout: wait.prefault("5s").describe("How long its answer may take."),
          backends: z
            .array(name)
            .min(1)
            .optional()
            .describe("Names of the backends to ask. Default: all."),
        })
        .optional()
        .describe("Asks backends how they are, without a call. Default: none is asked."),
    })
    .prefault({})
    .describe("When a target is taken out, and how it comes back."),
  hedge: hedge.optional(),
});

/** The parts `routing` and `timeouts` in the core's terms. */
export function routingSettings(
  routing: z.output<typeof routingSchema>,
  timeouts: Timeouts,
  passHeaders: PassHeaders = passesNone,
): RoutingSettings {
  const { affinity, affinity_header, max_in_flight, queue, retry, health, hedge } = routing;
  const { check } = health;
  return {
    passHeaders,
    affinity,
    affinityHeaders: affinity_header,
    maxInFlight: max_in_flight,
    queue: { size: queue.size, timeoutMs: queue.timeout },
    retry: {
      attempts: retry.attempts,
      budget: retry.budget,
      floor: retry.floor,
      windowMs: retry.window,
      firstPauseMs: retry.first_pause,
      longestPauseMs: retry.longest_pause,
      blocked: retry.blocked,
    },
    health: {
      failures: health.failures,
      failureRate: health.failure_rate,
      samples: health.samples,
      windowMs: health.window,
      firstPauseMs: health.first_pause,
      longestPauseMs: health.longest_pause,
      check: check && {
        intervalMs: check.interval,
        timeoutMs: check.timeout,
        backends: check.backends,
      },
    },
    hedge: hedge && hedgeOf(hedge),
    timeouts: timesOf(timeouts),
  };
}
