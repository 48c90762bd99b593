/** The limits of a token on the command line: the options that say them, and limits in words. */
import { alternatives } from "../config/problems.js";
import type { TokenChange } from "../core/callers/registry.js";
import {
  type Budget,
  budgetPeriods,
  type CallerLimits,
  type OwnLimits,
} from "../core/limits/settings.js";
import { type Given, type Option, UsageError } from "./command.js";

const ofUser = (what: string) => `${what} of each end user that requests name, likewise`;

/** The options. */
export const limitOptions = {
  rpm: { value: "N", help: "requests per minute, or unlimited" },
  tpm: { value: "N", help: "tokens per minute, or unlimited" },
  "images-per-day": { value: "N", help: "images per day, or unlimited" },
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
} as const satisfies Record<string, Option>;

/** The word for a limit that is that of all callers again. */
const reset = "default";

/** The options that change limits. What is not given stays. */
export const limitChangeOptions = {
  rpm: resettable(limitOptions.rpm),
  tpm: resettable(limitOptions.tpm),
  "images-per-day": resettable(limitOptions["images-per-day"]),
  concurrent: resettable(limitOptions.concurrent),
  budget: {
    value: "N[/PERIOD]",
    help: `spend per hour, day, week, month or lifetime, or unlimited, or ${reset}`,
  },
  "user-rpm": resettable(limitOptions["user-rpm"]),
  "user-tpm": resettable(limitOptions["user-tpm"]),
  "user-images-per-day": resettable(limitOptions["user-images-per-day"]),
  "user-concurrent": resettable(limitOptions["user-concurrent"]),
  "user-budget": resettable(limitOptions["user-budget"]),
} as const satisfies Record<string, Option>;

function resettable<O extends Option>(option: O): O {
  return { ...option, help: `${option.help}, or ${reset}` };
}

/**
 * The limits that were asked for; `undefined`: none.
 * @throws UsageError
 */
export function limitsWish(given: Given): OwnLimits | undefined {
  const own = limitsOf(given, read);
  const user = some(limitsOf(given, read, "user-"));
  return some<OwnLimits>({ ...own, ...(user && { user }) });
}

/**
 * How limits shall change.
 * @throws UsageError
 */
export function limitsChange(given: Given): NonNullable<TokenChange["limits"]> {
  const limit: ReadLimit<null> = (_given, name, read) => changeOption(given, name, reset, read);
  return { ...limitsOf(given, limit), user: some(limitsOf(given, limit, "user-")) };
}

/**
 * An option that changes something of a token.
 * @param word what takes away what the token has of its own
 * @returns `null` for that word
 * @throws UsageError as `read`, with the word
 */
export function changeOption<T>(
  given: Given,
  name: string,
  word: string,
  read: (given: Given, name: string) => T,
): T | null {
  if (given.text(name) === word) return null;
  try {
    return read(given, name);
  } catch (error) {
    throw new UsageError(`${(error as UsageError).message}; or "${word}"`);
  }
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
