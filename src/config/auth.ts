/** Who may call, as it is written in the configuration. */
import * as z from "zod";
import type { AuthSettings } from "../core/settings.js";
import { fromSchema, memberOf, models } from "./caller-fields.js";
import { ownLimitsOf, ownLimitsSchema, teamLimitsSchema } from "./caller-limits.js";
import { name } from "./fields.js";
import { issuerSchema } from "./issuers.js";
import { time } from "./quantities.js";

const team = z.strictObject({
  name: name.describe("Named by tokens, and in logs, limits and usage."),
  models: models("Models that its members may use"),
  limits: teamLimitsSchema
    .optional()
    .describe(
      "Limits of its members' calls, counted together. They replace limits.team, one by one.",
    ),
});

/** What stands in a configuration for a token. @param error where it is something else */
export const hashSchema = (error: string) =>
  z
    .string()
    .regex(/^sha256:[0-9a-fA-F]{64}$/, { error })
    .toLowerCase();

const token = z.strictObject({
  name: name.describe("Who it was issued to; names the caller in logs and limits."),
  hash: hashSchema(
    'must be "sha256:" and 64 hex digits, as "lintel tokens create --yaml" prints it',
  ).describe("Hash of the token; the token itself is never stored."),
  models: models(),
  from: fromSchema("it may be used from"),
  limits: ownLimitsSchema.optional().describe("Limits of this caller."),
  team: memberOf("its holder"),
  expires: time.optional().describe("Until when it counts. Default: for ever."),
});

/** The section `auth` of the configuration. */
export const authSchema = z.strictObject({
  mode: z
    .enum(["public", "token", "none"])
    .default("public")
    .describe(
      "public: any bearer token will do, it names the caller. token: only tokens that were issued, here, in the database, or by an OIDC issuer. none: everybody, without a token; for a trusted network only.",
    ),
  tokens: z
    .array(token)
    .default([])
    .describe("Tokens that were issued, besides those of the database."),
  oidc: z.array(issuerSchema).default([]).describe("Issuers whose JWTs count."),
  teams: z
    .array(team)
    .default([])
    .describe("Teams with models or limits of their own. Callers may be members of others, too."),
  database_away: z
    .enum(["refuse", "allow"])
    .default("refuse")
    .describe(
      "What becomes of tokens that were not seen before while the database is away: refused, or let in as strangers. Tokens that were seen go on working.",
    ),
});

type Auth = z.output<typeof authSchema>;

/** The core's part. */
export function authSettings({ mode, tokens, teams }: Auth): AuthSettings {
  if (mode !== "token") return { mode };
  return {
    mode,
    tokens: tokens.map(({ limits, expires, ...token }) => ({
      ...token,
      limits: limits && ownLimitsOf(limits),
      expiresAt: expires,
    })),
    teams: teams.map(({ name, models }) => ({ name, models })),
  };
}
