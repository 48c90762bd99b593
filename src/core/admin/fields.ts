/** Fields of requests that have a meaning beyond their type: times, limits, pages. */
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import {
  type Budget,
  type Expiry,
  type Limit,
  LimitSchema,
  type Limits,
  type UserLimits,
} from "../../../gen/lintel/admin/v1/tokens_pb.js";
import type { LimitChanges } from "../callers/registry.js";
import type { Violation } from "../errors.js";
import { budgetPeriods } from "../limits/settings.js";
import type { Range } from "../range.js";
import { compileRange, rangeOf } from "../rules.js";

/** Where what is wrong goes. */
export type Into = Violation[];

/** Last time that can be written with four digits for the year, milliseconds since the epoch. */
const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Of any limit: budgets have the same range. What is wrong with it is said by who reads the field it stands in. */
const wrongAmount = compileRange(rangeOf(LimitSchema.field.amount) as Range);

/** A time in milliseconds since the epoch. */
export function timeOf(time: Timestamp | undefined, field: string, into: Into): number | undefined {
  if (!time) return undefined;
  const ms = Number(time.seconds) * 1000 + Math.floor(time.nanos / 1e6);
  if (ms >= 0 && ms <= latest) return ms;
  into.push({ field, message: "must be a time from 1970 to 9999" });
  return undefined;
}

/** A duration from now in milliseconds. */
export function durationOf(
  duration: Duration | undefined,
  field: string,
  into: Into,
): number | undefined {
  if (!duration) return undefined;
  const ms = Number(duration.seconds) * 1000 + Math.floor(duration.nanos / 1e6);
  if (ms >= 0 && Date.now() + ms <= latest) return ms;
  into.push({ field, message: "must be a duration of 0 or more that ends before the year 10000" });
  return undefined;
}

/** Until when a token counts, milliseconds since the epoch; `null`: for ever; absent: not said. */
export function expiryOf(expiry: Expiry | undefined, into: Into): number | null | undefined {
  if (!expiry) return undefined;
  const { kind } = expiry;
  const at = (ms: number | undefined, field: string) => {
    if (ms !== undefined && ms <= Date.now())
      into.push({ field, message: "must be in the future" });
    return ms;
  };
  switch (kind.case) {
    case "time":
      return at(timeOf(kind.value, "expiry.time", into), "expiry.time");
    case "ttl": {
      const ms = durationOf(kind.value, "expiry.ttl", into);
      return ms === undefined ? undefined : at(Date.now() + ms, "expiry.ttl");
    }
    case "never":
      if (!kind.value) into.push({ field: "expiry.never", message: onlyTrue });
      return null;
    default:
      into.push({ field: "expiry", message: "must have one of time, ttl, never" });
      return undefined;
  }
}

const onlyTrue = "must be true, or left out";
const oneKind = "must have one of amount, unlimited, inherit";

/** Limits as messages of both kinds have them. */
type AnyLimits = Omit<Limits | UserLimits, "$typeName">;

/** Limits one by one: absent where nothing is said, `null` for that of every caller. */
export function limitsOf(limits: Limits | undefined, into: Into): LimitChanges | undefined {
  if (!limits) return undefined;
  const { user } = limits;
  return {
    ...oneByOne(limits, "limits", into),
    ...(user && { user: oneByOne(user, "limits.user", into) }),
  };
}

function oneByOne(limits: AnyLimits, within: string, into: Into) {
  const whole = (limit: Limit | undefined, name: string) => {
    const field = `${within}.${name}`;
    const amount = limit && amountOf(limit.kind, field, into);
    return amount === undefined || amount === null ? amount : Number(amount);
  };
  return {
    requestsPerMinute: whole(limits.requestsPerMinute, "requests_per_minute"),
    tokensPerMinute: whole(limits.tokensPerMinute, "tokens_per_minute"),
    imagesPerDay: whole(limits.imagesPerDay, "images_per_day"),
    concurrent: whole(limits.concurrent, "concurrent"),
    budget: limits.budget && budgetOf(limits.budget, `${within}.budget`, into),
  };
}

function budgetOf({ kind, period }: Budget, field: string, into: Into): LimitChanges["budget"] {
  const amount = amountOf(kind, field, into);
  if (amount === undefined || amount === null) return amount;
  // Absent, it is a month; others were found by the rules of the field.
  const known = budgetPeriods.find((one) => one === period) ?? "month";
  return { amount: Number(amount), period: known };
}

function amountOf(
  kind: Limit["kind"] | Budget["kind"],
  field: string,
  into: Into,
): number | bigint | null | undefined {
  switch (kind.case) {
    case "amount": {
      const message = wrongAmount(kind.value);
      if (message) into.push({ field: `${field}.amount`, message });
      return kind.value;
    }
    case "unlimited":
    case "inherit":
      if (!kind.value) into.push({ field: `${field}.${kind.case}`, message: onlyTrue });
      return kind.case === "unlimited" ? Number.POSITIVE_INFINITY : null;
    default:
      into.push({ field, message: oneKind });
      return undefined;
  }
}

/** A place in a list, as callers carry it from page to page. */
export const pageToken = (place: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(place)).toString("base64url");

/**
 * What such a token stands for.
 * @param form the types of its parts
 * @returns `undefined` where there is none, or it is none of ours, which is said
 */
export function placeIn(
  token: string,
  form: readonly ("string" | "number")[],
  into: Into,
): readonly (string | number)[] | undefined {
  if (token === "") return undefined;
  try {
    const place: unknown = JSON.parse(Buffer.from(token, "base64url").toString());
    const fits = (type: string, part: unknown) =>
      typeof part === type &&
      (type === "string" || (Number.isSafeInteger(part) && Number(part) >= 0));
    if (Array.isArray(place) && form.every((type, i) => fits(type, place[i]))) return place;
  } catch {
    // As one that is JSON, and something else.
  }
  into.push({ field: "page_token", message: "must be the next_page_token of an answer" });
  return undefined;
}
