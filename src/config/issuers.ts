/** Issuers of tokens, as they are written in the configuration. */
import * as z from "zod";
import { algorithms, type IssuerSettings } from "../oidc/settings.js";
import { ofTenants, tenantMark } from "../oidc/tenants.js";
import { fromSchema, memberOf, models } from "./caller-fields.js";
import { ownLimitsOf, ownLimitsSchema } from "./caller-limits.js";
import { name, path } from "./fields.js";
import { httpAddress, withoutFragment } from "./http-fields.js";
import { duration, wait } from "./quantities.js";

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

/** An entry of `auth.oidc`. */
export const issuerSchema = z.strictObject({
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

/** What of the section `auth` says who they are, and which teams there are. */
interface Issuers {
  readonly oidc: readonly z.output<typeof issuerSchema>[];
  readonly teams: readonly { readonly name: string }[];
}

/** The issuers: of one with tenants one for each, since each has a discovery document and keys. */
export const issuerSettings = ({ oidc, teams }: Issuers): IssuerSettings[] =>
  oidc.flatMap((issuer) =>
    ofTenants(issuer.issuer, issuer.tenants).map((iss, i) =>
      oneIssuer(issuer, teams, iss, issuer.tenants?.[i]),
    ),
  );

function oneIssuer(
  { claims, rules, otherwise, ...issuer }: z.output<typeof issuerSchema>,
  teams: Issuers["teams"],
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
