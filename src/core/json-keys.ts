/**
 * What of a JSON text `JSON.parse` passes over without a word: that a key stands twice in one
 * object, of which it takes the last (a check before the gateway may have looked at the first),
 * the digits of integers that are longer than JavaScript's, and numbers that are larger than its.
 */
import type { JsonObject } from "./json.js";

/** What was passed over. */
export interface PassedOver {
  /** Whether a key stands twice in one object. */
  readonly twice: boolean;
  /** Whether there may be a number that lost digits, or all of them: 1e400, or the sign of -0. */
  readonly digits: boolean;
}

/** Keys are looked at by number alone: a set for each object would take more, and most bodies have nothing twice. */
export function passedOver(text: string, parsed: JsonObject): PassedOver {
  const { keys, digits } = look(text);
  const found = valuesOf(parsed);
  return { twice: keys !== found.keys, digits: digits || found.lost };
}

/** The shortest integer that may be too long: 2 ** 53 has as many digits. */
const long = 16;
const longInteger = /\d{16}/;

/** How many strings have a colon behind them, and whether many digits stand between strings. @param text valid JSON */
function look(text: string): { readonly keys: number; readonly digits: boolean } {
  let keys = 0;
  let digits = false;
  for (let at = 0; ; ) {
    const begin = text.indexOf('"', at);
    const between = begin < 0 ? text.length : begin;
    if (!digits && between - at > long) digits = longInteger.test(text.slice(at, between));
    if (begin < 0) return { keys, digits };
    at = endOfString(text, begin);
    let next = text.charCodeAt(at);
    while (next === 0x20 || next === 0x0a || next === 0x0d || next === 0x09) {
      next = text.charCodeAt(++at);
    }
    if (next === 0x3a) keys++;
  }
}

/** Where a string ends, behind its quote. @param text valid JSON @param begin at its quote */
export function endOfString(text: string, begin: number): number {
  let end = begin;
  do end = text.indexOf('"', end + 1);
  while (isEscaped(text, end));
  return end + 1;
}

function isEscaped(text: string, at: number): boolean {
  let begin = at;
  while (text.charCodeAt(begin - 1) === 0x5c) begin--;
  return ((at - begin) & 1) === 1;
}

/**
 * How many keys there are with all that is within, and whether there is a number that JSON has none
 * for. A body may be nested deeper than the stack is.
 */
function valuesOf(parsed: JsonObject): { readonly keys: number; readonly lost: boolean } {
  let keys = 0;
  let lost = false;
  const open: unknown[] = [parsed];
  const look = (value: unknown) => {
    if (typeof value === "object") value !== null && open.push(value);
    else if (typeof value === "number") lost ||= isLost(value);
  };
  while (open.length > 0) {
    const next = open.pop();
    if (Array.isArray(next)) {
      for (const item of next) look(item);
      continue;
    }
    // Made by JSON.parse, it has no keys but its own: `Object.values` would be slower.
    for (const key in next as JsonObject) {
      keys++;
      look((next as JsonObject)[key]);
    }
  }
  return { keys, lost };
}

const isLost = (value: number) => !Number.isFinite(value) || Object.is(value, -0);
