/** What a token may do, as it is said on the command line. */
import { alternatives } from "../config/problems.js";
import { duration, latestTime, time } from "../config/quantities.js";
import type { NewToken, TokenChange } from "../core/callers/registry.js";
import { type Budget, budgetPeriods, type CallerLimits } from "../core/limits/settings.js";
import { stars } from "../core/pattern.js";
import { type Given, type Option, UsageError } from "./command.js";

/** Most characters of a name. */
const longestName = 128;

const isName = (text: string) => text.length <= longestName && !/\p{Cc}/u.test(text);

/** What `--expires` is, without its default. */
export const expiryHelp = "a date, a time, or how long from now: 2027-01-31, 90d";

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
  const limits = limitsOf(given);
  return {
    name,
    models: modelsOf(given),
    limits: Object.values(limits).some((limit) => limit !== undefined) ? limits : undefined,
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
  return {
    models: own("models", none.models, modelsOf),
    limits: {
      requestsPerMinute: own("rpm", none.limits, amountOption),
      tokensPerMinute: own("tpm", none.limits, amountOption),
      imagesPerDay: own("images-per-day", none.limits, amountOption),
      concurrent: own("concurrent", none.limits, amountOption),
      budget: own("budget", none.limits, budgetOption),
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

const limitsOf = (given: Given): CallerLimits => ({
  requestsPerMinute: amountOption(given, "rpm"),
  tokensPerMinute: amountOption(given, "tpm"),
  imagesPerDay: amountOption(given, "images-per-day"),
  concurrent: amountOption(given, "concurrent"),
  budget: budgetOption(given),
});

function amountOption(given: Given, name: string): number | undefined {
  const text = given.text(name);
  if (text === undefined) return undefined;
  if (text === "unlimited") return Number.POSITIVE_INFINITY;
  if (/^\d{1,12}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} must be a whole number, 0 or more, or unlimited`);
}

function budgetOption(given: Given): Budget | undefined {
  const text = given.text("budget");
  if (text === undefined) return undefined;
  const [amount = "", period = "month", more] = text.split("/");
  const known = budgetPeriods.find((one) => one === period);
  const isNumber = /^\d{1,12}(\.\d{1,9})?$/.test(amount);
  if (!known || more !== undefined || !(isNumber || amount === "unlimited")) {
    throw new UsageError(
      `--budget must be a number, or a number per ${alternatives(budgetPeriods)}, or unlimited: 20, 5/day`,
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
  const at = time().safeParse(text);
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
  const parsed = /[a-z]$/.test(text) ? duration().safeParse(text) : undefined;
  return parsed?.success ? parsed.data : undefined;
}

/** Limits in one line, as the options name them. */
export function limitsInWords(limits: CallerLimits | undefined): string {
  const { requestsPerMinute, tokensPerMinute, imagesPerDay, concurrent, budget } = limits ?? {};
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
