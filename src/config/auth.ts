/** Who may call, as it is written in the configuration. */
import * as z from "zod";
import { isNetwork, mostNetworks, networkMessage } from "../core/callers/addresses.js";
import type { AuthSettings } from "../core/settings.js";
import { algorithms, type IssuerSettings } from "../oidc/settings.js";
import { ofTenants, tenantMark } from "../oidc/tenants.js";
import { ownLimitsOf, ownLimitsSchema, teamLimitsSchema } from "./caller-limits.js";
import { modelPattern, name, path } from "./fields.js";
import { httpAddress, withoutFragment } from "./http-fields.js";
import { duration, time, wait } from "./quantities.js";

const models = (what = "Models that it may use") =>
  z
    .array(modelPattern)
    .min(1)
    .optional()
    .describe(`${what}; one * in a name stands for anything. Default: all.`);

const team = z.strictObject({
  name: name.describe("Named by tokens, and in logs, limits and usage."),
  models: models("Models that its members may use"),
  limits: teamLimitsSchema
    .optional()
    .describe(
      "Limits of its members' calls, counted together. They replace limits.team, one by one.",
    ),
});

const memberOf = (whose: string) =>
  name
    .optional()
    .describe(
      `Team of ${whose}: what its members do counts together, by auth.teams and limits.team.`,
    );

/** What stands in a configuration for a token. @param error where it is something else */
export const hashSchema = (error: string) =>
  z
    .string()
    .regex(/^sha256:[0-9a-fA-F]{64}$/, { error })
    .toLowerCase();

/** Addresses. @param what is done from there, and by whom */
export const fromSchema = (what: string, otherwise = "everywhere") =>
  z
    .array(z.string().refine(isNetwork, { error: networkMessage }))
    .min(1)
    .max(mostNetworks)
    .optional()
    .describe(
      `Addresses and networks that ${what}, such as 10.0.0.0/8; behind a proxy trust_proxy has to name that. Default: ${otherwise}.`,
    );

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

const claim = (what: string) =>
  name.optional().describe(`Claim with ${what}; its name, or the way to it: realm_access.roles.`);

const claims = z.strictObject({
  id: name.default("sub").describe("Claim that says who calls."),
  models: claim("the models that the caller may use: a list, or a text"),
  team: claim("the name of the caller's team, or several, of which the first of auth.teams counts"),
  requests_per_minute: claim("the caller's requests per minute"),
  tokens_per_minute: claim("the caller's tokens per minute"),
  images_per_day: claim("the caller's images per day"),
  concurrent: claim("how many of the caller's calls may run at the same time"),
});

const rule = z.strictObject({
  claim: name.describe("Claim that is looked at, for example groups."),
  value: name.describe("What the claim must be, or hold as one of several."),
  models: models(),
  limits: ownLimitsSchema
    .optional()
    .describe("Limits of callers whom it fits. Default: those of all callers."),
  team: memberOf("callers whom it fits"),
  from: fromSchema("callers whom it fits may call from", "those of the issuer"),
});

/** Ends of what the longest may be that a token counts which a caller makes for itself, milliseconds. */
const shortestOwn = 60_000;
const longestOwn = 366 * 86_400_000;

const ownTokens = z.strictObject({
  max: z
    .int()
    .min(1)
    .max(1000)
    .default(5)
    .describe("Most tokens of one caller that count at the same time."),
  max_ttl: duration
    .refine((ms) => ms >= shortestOwn && ms <= longestOwn, { error: "must be from 1m to 366d" })
    .prefault("30d")
    .describe("Longest that one counts: nobody tells the gateway when its owner is gone."),
  max_per_day: z
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe(
      "Most that one caller makes within 24 hours, those that were ended among them. Default: ten times max.",
    ),
});

const oidc = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][\w-]*$/, { error: "must be letters, digits, _ and -" })
    .describe("Names the issuer; its callers are called NAME:ID in logs, limits and usage."),
  issuer: httpAddress.describe(
    "What its tokens have in iss, letter by letter; {tenantid} in it stands for each of tenants.",
  ),
  tenants: z
    .array(
      z.string().regex(/^[A-Za-z0-9.-]+$/, { error: "must be letters, digits, - and . alone" }),
    )
    .min(1)
    .optional()
    .describe(
      "Ids of the tenants that are let in, as Microsoft's Entra has them, where {tenantid} stands in the issuer.",
    ),
  audience: z
    .union([name, z.array(name).min(1)], { error: "must be a text or a list of texts" })
    .transform((value) => (Array.isArray(value) ? value : [value]))
    .describe(
      "What its tokens must have in aud, or where they have none in client_id: one of these.",
    ),
  jwks_url: httpAddress
    .check(withoutFragment)
    .optional()
    .describe("Address of its keys. Default: what its discovery document says."),
  token_file: path
    .optional()
    .describe(
      "File with a bearer token for reading its keys, as Kubernetes wants one; read anew each time. Default: none is sent.",
    ),
  algorithms: z
    .array(z.enum(algorithms))
    .min(1)
    .default([...algorithms])
    .describe("Signatures that count."),
  clock_tolerance: duration.prefault("30s").describe("How far clocks may be apart."),
  refresh: wait.prefault("10m").describe("How often its keys are read again."),
  claims: claims.prefault({}).describe("Which claims say what."),
  rules: z
    .array(rule)
    .default([])
    .describe("What callers may do by what a claim says; the first rule that fits counts."),
  models: models(),
  limits: ownLimitsSchema.optional().describe("Limits of callers that no rule fits."),
  team: memberOf("callers that no rule fits"),
  from: fromSchema("its callers may call from, but for those whose rule has others"),
  otherwise: z
    .enum(["allow", "refuse"])
    .default("allow")
    .describe("What becomes of callers that no rule fits."),
  own_tokens: ownTokens
    .optional()
    .describe(
      "Tokens that its callers may make for themselves, which stand for them. Default: none; those that were made don't count then.",
    ),
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
  oidc: z.array(oidc).default([]).describe("Issuers whose JWTs count."),
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

/** The issuers: of one with tenants one for each, since each has a discovery document and keys. */
export const issuerSettings = (auth: Auth): IssuerSettings[] =>
  auth.oidc.flatMap((issuer) =>
    ofTenants(issuer.issuer, issuer.tenants).map((iss, i) =>
      oneIssuer(issuer, auth.teams, iss, issuer.tenants?.[i]),
    ),
  );

function oneIssuer(
  { claims, rules, otherwise, ...issuer }: Auth["oidc"][number],
  teams: Auth["teams"],
  iss: string,
  id = tenantMark,
): IssuerSettings {
  return {
    name: issuer.name,
    issuer: iss,
    audience: issuer.audience,
    jwksUrl: issuer.jwks_url?.replaceAll(tenantMark, id),
    tokenFile: issuer.token_file,
    algorithms: issuer.algorithms,
    clockToleranceMs: issuer.clock_tolerance,
    refreshMs: issuer.refresh,
    claims: {
      id: claims.id,
      models: claims.models,
      team: claims.team,
      limits: {
        requestsPerMinute: claims.requests_per_minute,
        tokensPerMinute: claims.tokens_per_minute,
        imagesPerDay: claims.images_per_day,
        concurrent: claims.concurrent,
      },
    },
    teams: teams.map(({ name }) => name),
    rules: rules.map(({ limits, from = issuer.from, ...rest }) => ({
      ...rest,
      limits: limits && ownLimitsOf(limits),
      from,
    })),
    ownTokens: issuer.own_tokens && {
      max: issuer.own_tokens.max,
      maxTtlMs: issuer.own_tokens.max_ttl,
      maxPerDay: issuer.own_tokens.max_per_day ?? issuer.own_tokens.max * 10,
    },
    otherwise:
      otherwise === "refuse"
        ? undefined
        : {
            models: issuer.models,
            limits: issuer.limits && ownLimitsOf(issuer.limits),
            team: issuer.team,
            from: issuer.from,
          },
  };
}
