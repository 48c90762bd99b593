/** What a token may do, as it is said on the command line. */
import { alternatives } from "../config/problems.js";
import { duration, latestTime, time } from "../config/quantities.js";
import { isNetwork, mostNetworks, networkMessage } from "../core/callers/addresses.js";
import type { NewToken, TokenChange } from "../core/callers/registry.js";
import { stars } from "../core/pattern.js";
import { type Given, type Option, UsageError } from "./command.js";
import {
  changeOption,
  limitChangeOptions,
  limitOptions,
  limitsChange,
  limitsWish,
} from "./limit-options.js";

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
  from: {
    value: "A,B",
    help: "addresses and networks that it may be used from: 203.0.113.7,10.0.0.0/8 (default: everywhere)",
  },
  ...limitOptions,
  team: {
    value: "NAME",
    help: "team whose limits count what its members do together (auth.teams, limits.team)",
  },
  expires: { value: "WHEN", help: `${expiryHelp} (default: never)` },
} as const satisfies Record<string, Option>;

/** The words that take away what else a token has of its own, by option. */
const none = { models: "all", from: "everywhere", team: "none" } as const;

/** The options that change a token. What is not given stays. */
export const changeOptions = {
  models: { ...tokenOptions.models, help: `models that it may use, or ${none.models}` },
  from: {
    ...tokenOptions.from,
    help: `addresses and networks that it may be used from, or ${none.from}`,
  },
  ...limitChangeOptions,
  team: { value: "NAME", help: `team that its holder is a member of, or ${none.team}` },
  expires: { value: "WHEN", help: `${expiryHelp}, or never` },
} as const satisfies Record<string, Option>;

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
  const limits = limitsWish(given);
  return {
    name,
    models: modelsOf(given),
    from: fromOf(given),
    limits,
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
  return {
    models: changeOption(given, "models", none.models, modelsOf),
    from: changeOption(given, "from", none.from, fromOf),
    limits: limitsChange(given),
    team: changeOption(given, "team", none.team, teamOption),
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

function listOption(given: Given, name: string): readonly string[] | undefined {
  return given
    .text(name)
    ?.split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");
}

function fromOf(given: Given): readonly string[] | undefined {
  const networks = listOption(given, "from");
  if (networks?.length === 0) throw new UsageError("--from needs at least one address");
  if ((networks?.length ?? 0) > mostNetworks) {
    throw new UsageError(`--from must have at most ${mostNetworks} addresses`);
  }
  for (const network of networks ?? []) {
    if (!isNetwork(network)) throw new UsageError(`--from: ${network} ${networkMessage}`);
  }
  return networks;
}

function modelsOf(given: Given): readonly string[] | undefined {
  const models = listOption(given, "models");
  if (models?.length === 0) throw new UsageError("--models needs at least one name");
  for (const model of models ?? []) {
    if (stars(model) > 1) throw new UsageError(`--models: ${model} must have at most one *`);
  }
  return models;
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
