/** From the claims of a token to a caller. */
import { createHash } from "node:crypto";
import type { Caller } from "../core/call.js";
import { callerOf } from "../core/callers/admit.js";
import { LintelError } from "../core/errors.js";
import type { CallerLimits } from "../core/limits/settings.js";
import { stars } from "../core/pattern.js";
import type { Grant, IssuerSettings, LimitClaim } from "./settings.js";

/** What stands in a token. */
export type Payload = Readonly<Record<string, unknown>>;

/** Longest id of a caller, and name of a team; they stand in logs, keys of limits and usage. */
const longestId = 200;

/**
 * The caller that a verified token is about.
 * @throws LintelError `invalid_token` if a claim is missing or not what it has to be
 */
export function callerFrom(payload: Payload, issuer: IssuerSettings): Caller {
  const { name, claims } = issuer;
  const id = claimOf(payload, claims.id);
  if (isUnverified(payload, claims.id)) {
    throw unusable(
      claims.id,
      "says who calls, and its issuer has not verified it (email_verified)",
    );
  }
  if ((typeof id !== "string" && typeof id !== "number") || id === "") {
    throw unusable(claims.id, "must say who calls");
  }
  const grant = grantOf(payload, issuer);
  const limits = { ...grant.limits, ...limitsFrom(payload, claims.limits) };
  const whole = `${name}:${id}`;
  return callerOf(shortened(whole), name, {
    models: modelsFrom(payload, claims.models) ?? grant.models,
    limits: Object.keys(limits).length > 0 ? limits : undefined,
    team: teamFrom(payload, issuer, grant.team),
    from: grant.from,
  });
}

/** The claims of a payload by which `callerFrom` finds the same caller again, by the names that the settings have for them. */
export function claimsFor(payload: Payload, { claims, rules }: IssuerSettings): Payload {
  const { id, models, team, limits } = claims;
  const names = [id, models, team, ...Object.values(limits), ...rules.map(({ claim }) => claim)];
  const told = new Set(names.filter((name) => name !== undefined));
  return Object.fromEntries(
    [...told].flatMap((name) => {
      const value = claimOf(payload, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** As long as may be, and another for each that is longer. */
function shortened(id: string): string {
  if (id.length <= longestId) return id;
  const hash = createHash("sha256").update(id).digest("base64url").slice(0, 22);
  return `${id.slice(0, longestId - hash.length - 1)}#${hash}`;
}

/** Whether a claim is an address of which the issuer says that it is not known to be its holder's: who likes may claim it. */
const isUnverified = ({ email_verified: verified }: Payload, claim: string): boolean =>
  claim === "email" && (verified === false || verified === "false");

/** A claim by its name, or else by the way to it; an address that is not verified is none. */
const claimOf = (payload: Payload, path: string): unknown =>
  isUnverified(payload, path) ? undefined : memberAt(payload, path.split("."));

/** What stands at the end of a way. Names on it may have dots of their own, as Kubernetes' `kubernetes.io`: the longest that is there counts. */
function memberAt(value: unknown, way: readonly string[]): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  for (let length = way.length; length > 0; length--) {
    const name = way.slice(0, length).join(".");
    if (!Object.hasOwn(value, name)) continue;
    const member = (value as Payload)[name];
    const found = length === way.length ? member : memberAt(member, way.slice(length));
    if (found !== undefined) return found;
  }
  return undefined;
}

function grantOf(payload: Payload, { rules, otherwise }: IssuerSettings): Grant {
  const rule = rules.find(({ claim, value }) => textsOf(claimOf(payload, claim)).includes(value));
  const grant = rule ?? otherwise;
  if (grant) return grant;
  throw new LintelError("invalid_token", "the bearer token's holder is not let in here");
}

/** The texts of a claim: a list's, or those with blanks or commas between, as in `scope`; and the whole. */
function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.map(String);
  if (typeof value === "string") return [value, ...parts(value)];
  return typeof value === "number" || typeof value === "boolean" ? [String(value)] : [];
}

/** What stands in a text between blanks and commas. */
const parts = (text: string): string[] => text.split(/[\s,]+/).filter((part) => part !== "");

function modelsFrom(payload: Payload, claim: string | undefined): readonly string[] | undefined {
  const value = claim === undefined ? undefined : claimOf(payload, claim);
  if (claim === undefined || value === undefined) return undefined;
  const models = typeof value === "string" ? parts(value) : value;
  if (!Array.isArray(models) || models.some((model) => typeof model !== "string")) {
    throw unusable(claim, "must be a list of models");
  }
  if (models.some((model) => stars(model) > 1)) {
    throw unusable(claim, "must have at most one * in each model");
  }
  return models;
}

/**
 * The team by a claim that may name several, such as all groups of who calls: the one of them that stands first among
 * those of the configuration. Of one that is named alone the name counts, whatever it is.
 * @param granted counts where the claim is absent, or names several and none that is configured
 * @throws LintelError `invalid_token` if nothing says which
 */
function teamFrom(
  payload: Payload,
  { claims: { team: claim }, teams: configured }: IssuerSettings,
  granted: string | undefined,
): string | undefined {
  const value = claim === undefined ? undefined : claimOf(payload, claim);
  if (claim === undefined || value === undefined) return granted;
  const named = Array.isArray(value) ? value : typeof value === "string" ? [value] : [undefined];
  if (!named.every((one) => typeof one === "string" && one !== "")) {
    throw unusable(claim, "must be the name of one team");
  }
  // Names of teams may have blanks and commas.
  const [alone] = named.length === 1 ? named : [];
  const all = alone === undefined ? named : [alone, ...parts(alone)];
  const known = configured.find((team) => all.includes(team)) ?? alone;
  if (known !== undefined) return shortened(known);
  if (granted === undefined)
    throw unusable(claim, "names several teams, and none that is known here");
  return granted;
}

function limitsFrom(
  payload: Payload,
  claims: Readonly<Partial<Record<LimitClaim, string>>>,
): CallerLimits {
  const limits: Partial<Record<LimitClaim, number>> = {};
  for (const [limit, claim] of Object.entries(claims) as [LimitClaim, string | undefined][]) {
    const value = claim === undefined ? undefined : claimOf(payload, claim);
    if (claim === undefined || value === undefined) continue;
    const amount = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof amount !== "number" || !Number.isInteger(amount) || amount < 0) {
      throw unusable(claim, "must be a whole number, 0 or more");
    }
    // Some issuers say the largest number of theirs where there is no limit, which stores can't tell.
    limits[limit] = Math.min(amount, Number.MAX_SAFE_INTEGER);
  }
  return limits;
}

function unusable(claim: string, message: string): LintelError {
  return new LintelError("invalid_token", `the bearer token's claim ${claim} ${message}`);
}
