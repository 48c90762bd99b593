/** Numbers within bounds, in a grammar. */
import type { JsonObject } from "../../../core/json.js";
import { either, literal, Unsupported } from "../../gbnf/gbnf.js";

/** No number that is bounded is larger: further ones are not exact. */
const furthest = 10 ** 15 - 1;

/** Digits behind the point: more, and a number may be rounded out of its bounds. */
const fraction = "[0-9]{1,6}";

/** Above, so many digits may be rounded to the next whole number. */
const exact = 1e9;

/** Numbers that bounds let through; each is a number or absent. */
interface Bounds {
  /** The least, and whether it is none itself. */
  readonly low: number;
  readonly openLow: boolean;
  readonly high: number;
  readonly openHigh: boolean;
}

/** A number that fits a schema. @throws Unsupported where none does, or it can't be told which */
export function numberOf(schema: JsonObject, whole: boolean): string {
  const { multipleOf } = schema;
  const divides = typeof multipleOf === "number" && Number.isInteger(1 / multipleOf);
  if (multipleOf !== undefined && !(divides && (whole || multipleOf === 1)))
    throw new Unsupported('"multipleOf"');
  const integer = whole || multipleOf === 1;
  const bounds = boundsOf(schema);
  if (bounds.low === -Infinity && bounds.high === Infinity) return integer ? "integer" : "number";
  const { low, openLow, high, openHigh } = bounds;
  const mirrored = { low: -high, openLow: openHigh, high: -low, openHigh: openLow };
  const positive = integer ? integersIn(bounds, 0) : numbersIn(bounds);
  const below = integer ? integersIn(mirrored, 1) : numbersIn(mirrored);
  const negative = low < 0 ? below : [];
  const all = [...positive, ...negative.map((one) => `"-" ${one}`)];
  if (all.length === 0) throw new Unsupported("bounds of numbers as narrow as these");
  return either(all);
}

function boundsOf(schema: JsonObject): Bounds {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const from = edge(minimum, exclusiveMinimum, -Infinity, (a, b) => a > b);
  const to = edge(maximum, exclusiveMaximum, Infinity, (a, b) => a < b);
  return { low: from.at, openLow: from.open, high: to.at, openHigh: to.open };
}

/** Of both kinds of a bound the narrower one; older schemas say of it whether it is exclusive. */
function edge(
  inclusive: unknown,
  exclusive: unknown,
  none: number,
  narrower: (one: number, other: number) => boolean,
) {
  const closed = typeof inclusive === "number" ? inclusive : none;
  if (exclusive === true) return { at: closed, open: true };
  const open = typeof exclusive === "number" ? exclusive : none;
  return open === none || narrower(closed, open)
    ? { at: closed, open: false }
    : { at: open, open: true };
}

/** Those that are not below the least. */
function integersIn({ low, openLow, high, openHigh }: Bounds, least: number): string[] {
  const from = Math.max(least, openLow ? Math.floor(low) + 1 : Math.ceil(low));
  const to = Math.min(furthest, openHigh ? Math.ceil(high) - 1 : Math.floor(high));
  return from > to ? [] : [digitsBetween(from, to)];
}

/** Those that are not negative, by the whole part: all numbers of it, or itself alone, lie within. */
function numbersIn({ low, openLow, high, openHigh }: Bounds): string[] {
  const within = (n: number) => (openLow ? n > low : n >= low) && (openHigh ? n < high : n <= high);
  const from = Math.max(0, openLow ? Math.floor(low) + 1 : Math.ceil(low));
  const to = Math.min(furthest, Math.floor(high)) - (high > exact ? 2 : 1);
  const found: string[] = [];
  if (from <= to) found.push(`${digitsBetween(from, to)} ("." ${fraction})?`);
  const last = Math.max(0, Math.floor(high));
  if (last <= furthest && last >= from && within(last)) found.push(`${literal(`${last}`)} (".0")?`);
  // What follows a whole number that is none itself.
  const isOpen = openLow && Number.isInteger(low) && low >= 0 && low < exact;
  if (isOpen && low + 1 <= high) found.push(`${literal(`${low}.`)} "0"{0,5} [1-9]`);
  return found;
}

/** Numbers of digits from one to another, both included. */
function digitsBetween(from: number, to: number): string {
  const [low, high] = [`${from}`, `${to}`];
  const found: string[] = [];
  for (let length = low.length; length <= high.length; length++) {
    const least = length === low.length ? low : `1${"0".repeat(length - 1)}`;
    const most = length === high.length ? high : "9".repeat(length);
    found.push(sameLength(least, most));
  }
  return either(found);
}

function sameLength(low: string, high: string): string {
  const [first = "", last = ""] = [low[0], high[0]];
  const rest = low.length - 1;
  if (rest === 0) return digits(first, last);
  if (/^0*$/.test(low.slice(1)) && /^9*$/.test(high.slice(1))) {
    return `${digits(first, last)} [0-9]{${rest}}`;
  }
  if (first === last) return `${literal(first)} ${sameLength(low.slice(1), high.slice(1))}`;
  const found = [`${literal(first)} ${sameLength(low.slice(1), "9".repeat(rest))}`];
  const [next, before] = [Number(first) + 1, Number(last) - 1];
  if (next <= before) found.push(`${digits(`${next}`, `${before}`)} [0-9]{${rest}}`);
  found.push(`${literal(last)} ${sameLength("0".repeat(rest), high.slice(1))}`);
  return either(found);
}

const digits = (first: string, last: string) =>
  first === last ? literal(first) : `[${first}-${last}]`;
