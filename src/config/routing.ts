/** Where calls go: targets of models, retries, health, queues, time-outs. */
import { z } from "zod";
import {
  type HedgeSettings,
  type RouteTimeouts,
  type RoutingSettings,
  routingDefaults,
  type TargetSettings,
} from "../core/routing/settings.js";
import { headerName } from "./http-fields.js";
import { wait, waitOrNone } from "./quantities.js";

const name = () => z.string().min(1);

/** A share of 1. */
const share = () => z.number().min(0).max(1);

const { queue, retry, health } = routingDefaults;

const maxInFlight = z
  .int()
  .min(1)
  .optional()
  .describe("Most requests at once; further ones wait in a queue. Default: any number.");

const target = z.strictObject({
  backend: name().describe("Name of the backend."),
  model: name()
    .optional()
    .describe(
      "Name by which the backend knows it. A * in it stands for what the * of the model's name fits. Default: the model's name.",
    ),
  weight: z
    .number()
    .gt(0)
    .max(1000)
    .default(1)
    .describe("Share of the calls among targets of the same priority."),
  priority: z
    .int()
    .min(0)
    .max(1000)
    .default(0)
    .describe("Lower ones are asked first; the others where those are out or full."),
  max_in_flight: maxInFlight,
});

const hedge = z
  .strictObject({
    percentile: z
      .number()
      .min(1)
      .max(99)
      .default(95)
      .describe("Of the target's recent times to the first token: as long is waited."),
    at_least: waitOrNone().prefault("50ms").describe("Is waited in any case."),
  })
  .describe(
    "Asks a second target where the first one is slow to begin its stream; the slower one is aborted. Counts as a retry.",
  );

const timeouts = {
  connect: wait()
    .optional()
    .describe(
      "Longest time to connect to a model server, where it is shorter than what its backend says; ai-sdk: always the backend's own.",
    ),
  first_token: wait()
    .optional()
    .describe(
      "Longest time until a stream begins, where it is shorter than what its backend says.",
    ),
  between_tokens: wait()
    .optional()
    .describe("Longest silence within a stream, where it is shorter than what its backend says."),
};

/** What the entry of a model says of routing. */
export const modelRouting = {
  aliases: z
    .array(name())
    .optional()
    .describe("Further names; calls under them count as calls of this model. One * is allowed."),
  targets: z
    .array(target)
    .min(1)
    .optional()
    .describe("Where it is served, instead of backends and model."),
  timeouts: z
    .strictObject({
      ...timeouts,
      total: wait().optional().describe("Longest time that one call may take."),
    })
    .optional()
    .describe(
      "Times for this model instead of those for all. Those for streams count for images only if set here.",
    ),
  max_in_flight: maxInFlight,
  hedge: hedge.optional(),
};

/** Times of routing that hold for every model. */
export const routeTimeouts = timeouts;

/** The part `routing` of the configuration. */
export const routingSchema = z.strictObject({
  affinity_header: headerName()
    .transform((header) => header.toLowerCase())
    .optional()
    .describe(
      "Calls with the same value of this header, or RPC metadata, go to the same target, which keeps its prefix cache warm. Default: none.",
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
      timeout: wait().prefault(queue.timeoutMs).describe("Longest time that a call waits."),
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
      window: wait().prefault(retry.windowMs).describe("Time over which the budget counts."),
      first_pause: waitOrNone()
        .prefault(retry.firstPauseMs)
        .describe("Pause before a target is asked again; doubles each time. Half of it is chance."),
      longest_pause: waitOrNone().prefault(retry.longestPauseMs).describe("Longest such pause."),
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
      window: wait().prefault(health.windowMs).describe("Time over which the share counts."),
      first_pause: wait()
        .prefault(health.firstPauseMs)
        .describe("How long it stays out until one call tries it; doubles when that fails."),
      longest_pause: wait().prefault(health.longestPauseMs).describe("Longest such pause."),
      check: z
        .strictObject({
          interval: wait().prefault("10s").describe("How often a backend is asked."),
          timeout: wait().prefault("5s").describe("How long its answer may take."),
          backends: z
            .array(name())
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

type Timeouts = Readonly<Partial<Record<keyof typeof timeouts | "total", number | undefined>>>;

/** A model's part in the core's terms. */
export function modelRoutingSettings(model: {
  readonly targets?:
    | readonly (Omit<TargetSettings, "maxInFlight"> & {
        readonly max_in_flight?: number | undefined;
      })[]
    | undefined;
  readonly timeouts?: Timeouts | undefined;
  readonly max_in_flight?: number | undefined;
  readonly hedge?: z.output<typeof hedge> | undefined;
}) {
  const { targets, timeouts, hedge, max_in_flight: maxInFlight } = model;
  return {
    maxInFlight,
    targets: targets?.map(({ max_in_flight, ...rest }) => ({
      ...rest,
      maxInFlight: max_in_flight,
    })),
    timeouts: timeouts && { ...timesOf(timeouts), total: timeouts.total },
    hedge: hedge && hedgeOf(hedge),
  };
}

/** The parts `routing` and `timeouts` in the core's terms. */
export function routingSettings(
  routing: z.output<typeof routingSchema>,
  timeouts: Timeouts,
): RoutingSettings {
  const { affinity_header, max_in_flight, queue, retry, health, hedge } = routing;
  const { check } = health;
  return {
    affinityHeader: affinity_header,
    maxInFlight: max_in_flight,
    queue: { size: queue.size, timeoutMs: queue.timeout },
    retry: {
      attempts: retry.attempts,
      budget: retry.budget,
      floor: retry.floor,
      windowMs: retry.window,
      firstPauseMs: retry.first_pause,
      longestPauseMs: retry.longest_pause,
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

const hedgeOf = ({ percentile, at_least }: z.output<typeof hedge>): HedgeSettings => ({
  percentile,
  leastMs: at_least,
});

const timesOf = ({ connect, first_token, between_tokens }: Timeouts): RouteTimeouts => ({
  connect,
  firstToken: first_token,
  betweenTokens: between_tokens,
});
