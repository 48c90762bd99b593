/** Limits of a caller, as they are written in the configuration. */
import * as z from "zod";
import { budgetPeriods, type CallerLimits, type OwnLimits } from "../core/limits/settings.js";
import { modelPattern } from "./fields.js";

/** A whole number, or `unlimited`. */
const amount = (least: number) => {
  const message = `must be a whole number, ${least} or more, or unlimited`;
  return z
    .union([z.int().min(least), z.literal("unlimited")], { error: message })
    .transform((value) => (value === "unlimited" ? Number.POSITIVE_INFINITY : value));
};

const budget = z.strictObject({
  amount: z
    .union([z.number().min(0), z.literal("unlimited")], {
      error: "must be a number, 0 or more, or unlimited",
    })
    .transform((value) => (value === "unlimited" ? Number.POSITIVE_INFINITY : value))
    .describe("In the unit that prices are written in."),
  period: z
    .enum(budgetPeriods)
    .default("month")
    .describe(
      "How long it lasts before it is full again; calendar periods by time_zone. lifetime: it never is.",
    ),
});

/** The fields of limits; what is left out is not limited here. */
export const limitsSchema = z.strictObject({
  requests_per_minute: amount(0).optional().describe("Calls that may begin in any 60 seconds."),
  tokens_per_minute: amount(0)
    .optional()
    .describe("Tokens, of prompts and completions together, in any 60 seconds."),
  images_per_day: amount(0).optional().describe("Images in one day, by time_zone."),
  concurrent: amount(0).optional().describe("Calls that may run at the same time."),
  budget: budget.optional().describe("How much may be spent, by the price table."),
});

/** Those of a caller or a team, which may have others for end users. */
export const ownLimitsSchema = limitsSchema.extend({
  user: limitsSchema
    .optional()
    .describe(
      "Of each end user, by the user that a request names. They replace limits.user, one by one; a token's come before its team's.",
    ),
});

/** Those of a team, which may have others for some models. */
export const teamLimitsSchema = ownLimitsSchema.extend({
  models: z
    .array(
      limitsSchema.extend({
        model: modelPattern.describe(
          "Name; one * in it stands for anything. Models that it fits count together.",
        ),
      }),
    )
    .optional()
    .describe(
      "Of what it asks of some models, besides. They replace, one by one, what an entry of limits.models of the same name has under team.",
    ),
});

/** Limits as they are written in the configuration: what `ownLimitsOf` reads. */
export function limitsWritten({ user, ...own }: OwnLimits): z.input<typeof ownLimitsSchema> {
  return { ...oneByOne(own), user: user && oneByOne(user) };
}

function oneByOne({ budget, ...limits }: CallerLimits): z.input<typeof limitsSchema> {
  return {
    requests_per_minute: amountWritten(limits.requestsPerMinute),
    tokens_per_minute: amountWritten(limits.tokensPerMinute),
    images_per_day: amountWritten(limits.imagesPerDay),
    concurrent: amountWritten(limits.concurrent),
    budget: budget && { amount: amountWritten(budget.amount), period: budget.period },
  };
}

/** Infinity is no number in JSON. */
const amountWritten = <T extends number | undefined>(amount: T) =>
  amount === Number.POSITIVE_INFINITY ? "unlimited" : amount;

/** Limits as the core knows them. */
export function limitsOf(limits: z.output<typeof limitsSchema>): CallerLimits {
  return {
    requestsPerMinute: limits.requests_per_minute,
    tokensPerMinute: limits.tokens_per_minute,
    imagesPerDay: limits.images_per_day,
    concurrent: limits.concurrent,
    budget: limits.budget,
  };
}

/** The same, with those of end users. */
export const ownLimitsOf = ({ user, ...own }: z.output<typeof ownLimitsSchema>): OwnLimits => ({
  ...limitsOf(own),
  ...(user && { user: limitsOf(user) }),
});
