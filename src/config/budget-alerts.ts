/** Who is told when a budget is nearly used up. */
import * as z from "zod";
import { alertScopes } from "../core/limits/alerts.js";
import { headers, serverUrl, signingSecrets, withoutFragment } from "./http-fields.js";
import { wait } from "./quantities.js";

const share = z.number().refine((at) => at > 0 && at <= 1, {
  error: "must be above 0, and at most 1, which is all of it",
});

/** The section `budget_alerts` of the configuration. */
export const budgetAlertsSchema = z.strictObject({
  url: serverUrl("headers")
    .check(withoutFragment)
    .describe(
      "Address that gets a POST, such as an incoming webhook of Slack or Mattermost; best taken from the environment.",
    ),
  headers: headers.default({}).describe("Further headers of every request to it."),
  signing_secrets: signingSecrets,
  at: z
    .array(share)
    .min(1)
    .max(20)
    .default([0.8, 1])
    .transform((all) => [...new Set(all)].sort((a, b) => a - b))
    .describe(
      "Shares of a budget at which it is told of; 1 is also when a call is refused since too little is left.",
    ),
  scopes: z
    .array(z.enum(alertScopes))
    .min(1)
    .default([...alertScopes])
    .describe(
      "Whose budgets: of all calls, of models, of teams, of callers that are known, and of what teams and these ask of some models.",
    ),
  timeout: wait.prefault("10s").describe("Longest time that one request may take."),
});
