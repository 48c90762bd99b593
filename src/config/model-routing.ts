/** Where the calls of one model go, and the times and bounds that models share with the part `routing`. */
import * as z from "zod";
import {
  type HedgeSettings,
  mirrorDefaults,
  type RouteTimeouts,
  type TargetSettings,
} from "../core/routing/settings.js";
import { name } from "./fields.js";
import { wait, waitOrNone } from "./quantities.js";

/** Of a target, a model, or every target. */
export const maxInFlight = z
  .int()
  .min(1)
  .optional()
  .describe("Most requests at once; further ones wait in a queue. Default: any number.");

/** Of what whoever runs a target allows in any 60 seconds. */
const quota = (what: string) =>
  z.int().min(1).optional().describe(`${what}, in any 60 seconds. Default: any number.`);

const target = z.strictObject({
  backend: name.describe("Name of the backend."),
  model: name
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
  requests_per_minute: quota(
    "Its vendor's quota: most requests that it is asked, retries, hedges and mirrored calls among them",
  ),
  tokens_per_minute: quota(
    "Its vendor's quota: most tokens that it is asked for, of prompts and completions together",
  ),
});

const mirror = z.strictObject({
  backend: name.describe("Name of the backend."),
  model: name
    .optional()
    .describe(
      "Name by which the backend knows it. A * in it stands for what the * of the model's name fits. Default: the model's own.",
    ),
  share: z
    .number()
    .min(0)
    .max(1)
    .default(mirrorDefaults.share)
    .describe("Share of the calls that it gets, from 0 (none) to 1 (all)."),
  max_in_flight: z
    .int()
    .min(1)
    .default(mirrorDefaults.maxInFlight)
    .describe("Most of these calls that run there at once; it does not get further ones."),
});

/** When a second target is asked, too. */
export const hedge = z
  .strictObject({
    percentile: z
      .number()
      .min(1)
      .max(99)
      .default(95)
      .describe("Of the target's recent times to the first token: as long is waited."),
    at_least: waitOrNone.prefault("50ms").describe("Is waited in any case."),
  })
  .describe(
    "Asks a second target where the first one is slow to begin its stream; the slower one is aborted. Counts as a retry.",
  );

/** Times of routing that hold for every model. */
export const routeTimeouts = {
  connect: wait
    .optional()
    .describe(
      "Longest time to connect to a model server, where it is shorter than what its backend says; ai-sdk: always the backend's own.",
    ),
  first_token: wait
    .optional()
    .describe(
      "Longest time until a stream begins, where it is shorter than what its backend says.",
    ),
  between_tokens: wait
    .optional()
    .describe("Longest silence within a stream, where it is shorter than what its backend says."),
};

/** What the entry of a model says of routing. */
export const modelRouting = {
  aliases: z
    .array(name)
    .optional()
    .describe("Further names; calls under them count as calls of this model. One * is allowed."),
  targets: z
    .array(target)
    .min(1)
    .optional()
    .describe("Where it is served, instead of backends and model."),
  timeouts: z
    .strictObject({
      ...routeTimeouts,
      total: wait.optional().describe("Longest time that one call may take."),
    })
    .optional()
    .describe(
      "Times for this model instead of those for all. Those for streams count for images only if set here.",
    ),
  max_in_flight: maxInFlight,
  hedge: hedge.optional(),
  mirrors: z
    .array(mirror)
    .min(1)
    .optional()
    .describe(
      "Models that get a share of its calls as well, and whose answers nobody sees: to compare them. What they cost is in no record of usage, no limit and no budget.",
    ),
};

/** What `timeouts` says, of one model or of all. */
export type Timeouts = Readonly<
  Partial<Record<keyof typeof routeTimeouts | "total", number | undefined>>
>;

/** A model's part in the core's terms. */
export function modelRoutingSettings(model: {
  readonly targets?: readonly z.output<typeof target>[] | undefined;
  readonly timeouts?: Timeouts | undefined;
  readonly max_in_flight?: number | undefined;
  readonly hedge?: z.output<typeof hedge> | undefined;
  readonly mirrors?: readonly z.output<typeof mirror>[] | undefined;
}) {
  const { targets, timeouts, hedge, mirrors, max_in_flight: maxInFlight } = model;
  return {
    maxInFlight,
    targets: targets?.map(targetOf),
    timeouts: timeouts && { ...timesOf(timeouts), total: timeouts.total },
    hedge: hedge && hedgeOf(hedge),
    mirrors: mirrors?.map(({ max_in_flight, ...rest }) => ({
      ...rest,
      maxInFlight: max_in_flight,
    })),
  };
}

const targetOf = ({
  max_in_flight: maxInFlight,
  requests_per_minute: requestsPerMinute,
  tokens_per_minute: tokensPerMinute,
  ...rest
}: z.output<typeof target>): TargetSettings => ({
  ...rest,
  maxInFlight,
  requestsPerMinute,
  tokensPerMinute,
});

/** In the core's terms. */
export const hedgeOf = ({ percentile, at_least }: z.output<typeof hedge>): HedgeSettings => ({
  percentile,
  leastMs: at_least,
});

/** In the core's terms. */
export const timesOf = ({ connect, first_token, between_tokens }: Timeouts): RouteTimeouts => ({
  connect,
  firstToken: first_token,
  betweenTokens: between_tokens,
});
