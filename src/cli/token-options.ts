/** What a token may do, as it is said on the command line. */
import { alternatives } from "../config/problems.js";
import { duration, latestTime, time } from "../config/quantities.js";
import type { NewToken, TokenChange } from "../core/callers/registry.js";
import {
  type Budget,
  budgetPeriods,
  type CallerLimits,
  type OwnLimits,
} from "../core/limits/settings.js";
import { stars } from "../core/pattern.js";
import { type Given, type Option, UsageError } from "./command.js";

/** Most characters of a name. */
const longestName = 128;

const isName = (text: string) => text.length <= longestName && !/\p{Cc}/u.test(text);

/** What `--expires` is, without its default. */
export const expiryHelp = "a date, a time, or how long from now: 2027-01-31, 90d";

const ofUser = (what: string) => `${what} of each end user that requests name, likewise`;

/** The options. */
export const tokenOptions = {
  name: {
    value: "NAME",
    short: "n",
    help: "who it is for; names the caller in logs, limits and usage",
  },
  models: {
    value: "A,B",
    help: "models that it may use; one * in a name stands for anything (default: all)",
  },
  rpm: { value: "N", help: "requests per minute, or unlimited" },
  tpm: { value: "N", help: "tokens per minute, or unlimited" },
  "images-per-day": { value: "N", help: "images per day (UTC), or unlimited" },
  concurrent: { value: "N", help: "calls that may run at the same time, or unlimited" },
  budget: {
    value: "N[/PERIOD]",
    help: "spend per hour, day, week, month (default) or lifetime, or unlimited",
  },
  "user-rpm": { value: "N", help: ofUser("requests per minute") },
  "user-tpm": { value: "N", help: ofUser("tokens per minute") },
  "user-images-per-day": { value: "N", help: ofUser("images per day") },
  "user-concurrent": { value: "N", help: ofUser("calls at the same time") },
  "user-budget": { value: "N[/PERIOD]", help: ofUser("spend") },
  team: {
    value: "NAME",
    help: "team whose limits count what its members do together (auth.teams, limits.team)",
  },
  expires: { value: "WHEN", help: `${expiryHelp} (default: never)` },
} as const satisfies Record<string, Option>;

/** The words that take away what a token has of its own, by option. */
const none = { models: "all", team: "none", limits: "default" } as const;

/** The options that change a token. What is not given stays. */
export const changeOptions = {
  models: { ...tokenOptions.models, help: `models that it may use, or ${none.models}` },
  rpm: resettable(tokenOptions.rpm),
  tpm: resettable(tokenOptions.tpm),
  "images-per-day": resettable(tokenOptions["images-per-day"]),
  concurrent: resettable(tokenOptions.concurrent),
  budget: {
    value: "N[/PERIOD]",
    help: `spend per hour, day, week, month or lifetime, or unlimited, or ${none.limits}`,
  },
  "user-rpm": resettable(tokenOptions["user-rpm"]),
  "user-tpm": resettable(tokenOptions["user-tpm"]),
  "user-images-per-day": resettable(tokenOptions["user-images-per-day"]),
  "user-concurrent": resettable(tokenOptions["user-concurrent"]),
  "user-budget": resettable(tokenOptions["user-budget"]),
  team: { value: "NAME", help: `team that its holder is a member of, or ${none.team}` },
  expires: { value: "WHEN", help: `${expiryHelp}, or never` },
} as const satisfies Record<string, Option>;

function resettable<O extends Option>(option: O): O {
  return { ...option, help: `${option.help}, or ${none.limits}` };
}

/**
 * What was asked for.
 * @throws UsageError
 */
export function wishOf(given: Given): NewToken {
  const name = given.text("name")?.trim();
  if (!name) throw new UsageError("tokens create needs --name NAME");
  if (!isName(name) || name.startsWith("tok_")) {
    throw new UsageError(
      `--name must have at most ${longestName} characters, no control characters, and not begin with tok_`,
    );
  }
  const own = limitsOf(given, read);
  const user = some(limitsOf(given, read, "user-"));
  return {
    name,
    models: modelsOf(given),
    limits: some<OwnLimits>({ ...own, ...(user && { user }) }),
    team: teamOption(given),
    expiresAt: expiryOption(given) ?? undefined,
  };
}

/**
 * What shall change.
 * @throws UsageError also if nothing was asked for
 */
export function changeOf(given: Given): TokenChange {
  if (!Object.keys(changeOptions).some((name) => given.has(name))) {
    const options = Object.keys(changeOptions).map((name) => `--${name}`);
    throw new UsageError(`tokens update needs something to change: ${alternatives(options)}`);
  }
  const own = <T>(name: string, word: string, read: (given: Given, name: string) => T) => {
    if (given.text(name) === word) return null;
    try {
      return read(given, name);
    } catch (error) {
      throw new UsageError(`${(error as UsageError).message}; or "${word}"`);
    }
  };
  const limit: ReadLimit<null> = (_given, name, read) => own(name, none.limits, read);
  return {
    models: own("models", none.models, modelsOf),
    limits: {
      ...limitsOf(given, limit),
      user: some(limitsOf(given, limit, "user-")),
    },
    team: own("team", none.team, teamOption),
    expiresAt: expiryOption(given),
  };
}

function teamOption(given: Given): string | undefined {
  const team = given.text("team")?.trim();
  if (team === undefined) return undefined;
  if (team === none.team) {
    throw new UsageError(`--team: no team is called "${none.team}": leave it out`);
  }
  if (!team || !isName(team)) {
    throw new UsageError(
      `--team must have 1 to ${longestName} characters, and no control characters`,
    );
  }
  return team;
}

function modelsOf(given: Given): readonly string[] | undefined {
  const models = given
    .text("models")
    ?.split(",")
    .map((model) => model.trim())
    .filter((model) => model !== "");
  if (models?.length === 0) throw new UsageError("--models needs at least one name");
  for (const model of models ?? []) {
    if (stars(model) > 1) throw new UsageError(`--models: ${model} must have at most one *`);
  }
  return models;
}

/** How an option of a limit is read; `Other`: what it may be besides. */
type ReadLimit<Other> = <T>(
  given: Given,
  name: string,
  value: (given: Given, name: string) => T,
) => T | Other;

const read: ReadLimit<never> = (given, name, value) => value(given, name);

/** @param whose what the options' names begin with */
const limitsOf = <Other>(given: Given, read: ReadLimit<Other>, whose = "") => ({
  requestsPerMinute: read(given, `${whose}rpm`, amountOption),
  tokensPerMinute: read(given, `${whose}tpm`, amountOption),
  imagesPerDay: read(given, `${whose}images-per-day`, amountOption),
  concurrent: read(given, `${whose}concurrent`, amountOption),
  budget: read(given, `${whose}budget`, budgetOption),
});

/** Limits, if there are any. */
const some = <L extends object>(limits: L): L | undefined =>
  Object.values(limits).some((limit) => limit !== undefined) ? limits : undefined;

function amountOption(given: Given, name: string): number | undefined {
  const text = given.text(name);
  if (text === undefined) return undefined;
  if (text === "unlimited") return Number.POSITIVE_INFINITY;
  if (/^\d{1,12}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} must be a whole number, 0 or more, or unlimited`);
}

function budgetOption(given: Given, name: string): Budget | undefined {
  const text = given.text(name);
  if (text === undefined) return undefined;
  const [amount = "", period = "month", more] = text.split("/");
  const known = budgetPeriods.find((one) => one === period);
  const isNumber = /^\d{1,12}(\.\d{1,9})?$/.test(amount);
  if (!known || more !== undefined || !(isNumber || amount === "unlimited")) {
    throw new UsageError(
      `--${name} must be a number, or a number per ${alternatives(budgetPeriods)}, or unlimited: 20, 5/day`,
    );
  }
  return { amount: isNumber ? Number(amount) : Number.POSITIVE_INFINITY, period: known };
}

/**
 * The option `--expires`, in milliseconds since the epoch; `null`: never.
 * @throws UsageError
 */
export function expiryOption(given: Given): number | null | undefined {
  const text = given.text("expires");
  if (text === undefined) return undefined;
  if (text === "never") return null;
  const at = time.safeParse(text);
  const expiresAt = at.success ? at.data : Date.now() + (parseDuration(text) ?? Number.NaN);
  if (Number.isNaN(expiresAt)) {
    throw new UsageError(`--expires must be ${expiryHelp}`);
  }
  if (expiresAt > latestTime) throw new UsageError("--expires must be before the year 10000");
  if (expiresAt <= Date.now()) throw new UsageError("--expires is in the past");
  return expiresAt;
}

/**
 * An option that is a duration from now, in milliseconds.
 * @throws UsageError
 */
export function durationOption(given: Given, name: string): number | undefined {
  const text = given.text(name);
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms === undefined)
    throw new UsageError(`--${name} must be a duration such as 30s, 15m, 24h or 7d`);
  if (Date.now() + ms > latestTime)
    throw new UsageError(`--${name} must end before the year 10000`);
  return ms;
}

/** `90d` in milliseconds; a number alone is none, it would be taken for days. */
export function parseDuration(text: string): number | undefined {
  const parsed = /[a-z]$/.test(text) ? duration.safeParse(text) : undefined;
  return parsed?.success ? parsed.data : undefined;
}

/** Limits in one line, as the options name them. */
export function limitsInWords({ user, ...own }: OwnLimits = {}): string {
  const ofUser = user && inWords(user);
  return [inWords(own), ofUser && `each user: ${ofUser}`].filter(Boolean).join("; ");
}

function inWords(limits: CallerLimits): string {
  const { requestsPerMinute, tokensPerMinute, imagesPerDay, concurrent, budget } = limits;
  const amount = (n: number) => (n === Number.POSITIVE_INFINITY ? "unlimited" : String(n));
  return [
    requestsPerMinute !== undefined && `rpm ${amount(requestsPerMinute)}`,
    tokensPerMinute !== undefined && `tpm ${amount(tokensPerMinute)}`,
    imagesPerDay !== undefined && `images/day ${amount(imagesPerDay)}`,
    concurrent !== undefined && `concurrent ${amount(concurrent)}`,
    budget && `budget ${amount(budget.amount)}/${budget.period}`,
  ]
    .filter(Boolean)
    .join(", ");
}
