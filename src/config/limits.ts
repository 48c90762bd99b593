/** How much may be asked of a gateway. */
import * as z from "zod";
import type { AlertSink } from "../core/limits/alerts.js";
import type { OwnCallers, OwnUsers, PastLimits } from "../core/limits/history.js";
import type { LimitSettings } from "../core/limits/settings.js";
import type { LimitParts } from "../core/limits/step.js";
import type { LimitStore } from "../core/limits/store.js";
import { TimeZone } from "../core/time-zone.js";
import type { CountingSettings } from "../state/counting.js";
import { limitsOf, limitsSchema, ownLimitsOf } from "./caller-limits.js";
import { modelPattern } from "./fields.js";
import { period, size, waitOrNone } from "./quantities.js";
import { redisSettings } from "./redis.js";
import type { Config } from "./schema.js";

/** The section `limits` of the configuration. */
export const limitSettingsSchema = z.strictObject({
  global: limitsSchema.optional().describe("Of all calls together."),
  caller: limitsSchema
    .optional()
    .describe("Of each caller. A token's own limits replace these, one by one."),
  user: limitsSchema
    .optional()
    .describe(
      "Of each end user of each caller, by the user that a request names. Those of a team, and those of a token before these, replace them, one by one. A call that names nobody has none of these.",
    ),
  team: limitsSchema
    .optional()
    .describe(
      "Of each team, all calls of its members together. A team's own limits replace these, one by one.",
    ),
  models: z
    .array(
      limitsSchema.extend({
        model: modelPattern.describe(
          "Name; one * in it stands for anything. Models that it fits count together.",
        ),
        caller: limitsSchema
          .optional()
          .describe(
            "Of what each caller asks of these models, besides. A token's own limits replace none of these.",
          ),
        team: limitsSchema
          .optional()
          .describe(
            "Of what each team asks of these models, all its members together, besides. Only those of the same model in the limits of a team of auth.teams replace these, one by one.",
          ),
      }),
    )
    .default([])
    .describe("Of models, whoever calls. Every entry that fits a call applies."),
});

/** The section `idempotency` of the configuration. */
export const idempotencySchema = z.strictObject({
  enabled: z.boolean().default(true).describe("Whether Idempotency-Key is looked at."),
  ttl: period
    .prefault("24h")
    .describe("How long answers are kept; those with addresses of images at most media.ttl."),
  max_answer: size
    .prefault("16MiB")
    .describe("Largest answer that is kept. Who asks again for a larger one is refused."),
  max_bytes: size
    .prefault("64MiB")
    .describe(
      "Room in memory for all answers; the oldest of the caller who holds most go first. Not for those in Redis.",
    ),
  linger: waitOrNone
    .prefault("30s")
    .describe(
      "How long a call with a key goes on after its caller left, for the caller to come again.",
    ),
});

/**
 * What the core limits, or `undefined` where nobody can have any limit.
 * @param sink who is told of budgets
 */
export function limitParts(
  config: Config,
  store: LimitStore,
  sink?: AlertSink,
): LimitParts | undefined {
  const settings = limitSettings(config);
  const some = settings.global || settings.caller || settings.user || settings.models.length > 0;
  if (!some && !callersOwn(config)) return undefined;
  const { budget_alerts } = config;
  const { at, scopes } = budget_alerts ?? {};
  const zone = new TimeZone(config.time_zone);
  const alerts = sink && at && { at, scopes: new Set(scopes), zone, sink };
  return { settings, prices: config.prices, store, alerts };
}

/** The stores' part of the configuration. */
export function countingSettings(config: Config): CountingSettings {
  const { redis } = config.state;
  const { enabled, ttl, max_answer, max_bytes } = config.idempotency;
  return {
    ...(redis && {
      redis: {
        ...redisSettings("state.redis", redis),
        onFailure: redis.on_store_failure,
        replicas: redis.replicas * config.workers,
      },
    }),
    idempotency: enabled
      ? { ttlMs: ttl, maxAnswerBytes: max_answer, maxBytes: max_bytes }
      : undefined,
    zone: new TimeZone(config.time_zone),
    ...pastLimits(config),
  };
}

/** What counts what was used before, too. */
export function pastLimits(config: Config): PastLimits {
  const { tokens, oidc } = config.auth;
  const ofUsers = ownUsers(config);
  const ofCallers = ownCallers(config);
  const own = JSON.stringify([tokens.map(({ name, limits }) => [name, limits]), oidc, ofUsers]);
  return { limits: limitSettings(config), callersOwn: callersOwn(config), ofCallers, ofUsers, own };
}

/** Whether callers may bring limits of their own, with their tokens. */
const callersOwn = ({ auth }: Config) => auth.mode === "token";

/** Some limits that the configuration gives, and to whom. */
interface Owner {
  readonly name: string;
  readonly limits?: Config["auth"]["tokens"][number]["limits"];
}

/** Issuers, and each of their rules. */
const issuersOf = ({ auth: { oidc } }: Config): Owner[] =>
  oidc.flatMap(({ name, limits, rules }) =>
    [{ limits }, ...rules].map(({ limits }) => ({ name, limits })),
  );

function ownCallers(config: Config): OwnCallers[] {
  const { tokens, oidc } = config.auth;
  const these = (of: OwnCallers["of"], all: readonly Owner[]) =>
    all.flatMap(({ name, limits }) => (limits ? [{ of, name, limits: limitsOf(limits) }] : []));
  // A claim may say any number.
  const claimed = oidc.flatMap(({ name, claims }) =>
    claims.images_per_day === undefined ? [] : [{ name, limits: { images_per_day: 0 } }],
  );
  return [...these("callers", tokens), ...these("issuers", [...issuersOf(config), ...claimed])];
}

function ownUsers(config: Config): OwnUsers[] {
  const { tokens, teams } = config.auth;
  const these = (of: OwnUsers["of"], all: readonly Owner[]) =>
    all.flatMap(({ name, limits }) =>
      limits?.user ? [{ of, name, limits: limitsOf(limits.user) }] : [],
    );
  return [
    ...these("callers", tokens),
    ...these("teams", teams),
    ...these("issuers", issuersOf(config)),
  ];
}

function limitSettings({ auth, limits }: Config): LimitSettings {
  return {
    global: limits.global && limitsOf(limits.global),
    caller: limits.caller && limitsOf(limits.caller),
    user: limits.user && limitsOf(limits.user),
    team: limits.team && limitsOf(limits.team),
    teams: auth.teams.map(({ name: team, limits: { models, ...own } = {} }) => ({
      ...{ team, ...ownLimitsOf(own) },
      ...(models && { models: models.map(({ model, ...its }) => ({ model, ...limitsOf(its) })) }),
    })),
    models: limits.models.map(({ model, caller, team, ...entry }) => ({
      model,
      ...limitsOf(entry),
      ...(caller && { caller: limitsOf(caller) }),
      ...(team && { team: limitsOf(team) }),
    })),
  };
}
