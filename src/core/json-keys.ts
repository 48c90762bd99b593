/**
 * Whether a key stands twice in one object of a JSON text, of which `JSON.parse` takes the last
 * without a word: a check before the gateway may have looked at the first.
 */
import type { JsonObject } from "./json.js";

/** Looked at by number alone: a set for each object would take more, and most bodies have nothing twice. */
export const hasKeyTwice = (text: string, parsed: JsonObject): boolean =>
  keysWritten(text) !== keysOf(parsed);

/** How many strings have a colon behind them. @param text valid JSON */
function keysWritten(text: string): number {
  let keys = 0;
  for (let at = 0; ; ) {
    let end = text.indexOf('"', at);
    if (end < 0) return keys;
    do end = text.indexOf('"', end + 1);
    while (isEscaped(text, end));
    at = end + 1;
    let next = text.charCodeAt(at);
    while (next === 0x20 || next === 0x0a || next === 0x0d || next === 0x09) {
      next = text.charCodeAt(++at);
    }
    if (next === 0x3a) keys++;
  }
}

function isEscaped(text: string, at: number): boolean {
  let begin = at;
  while (text.charCodeAt(begin - 1) === 0x5c) begin--;
  return ((at - begin) & 1) === 1;
}

/** How many keys there are with all that is within. A body may be nested deeper than the stack is. */
function keysOf(parsed: JsonObject): number {
  let keys = 0;
  const open: unknown[] = [parsed];
  while (open.length > 0) {
    const next = open.pop();
    if (Array.isArray(next)) {
      for (const item of next) if (typeof item === "object" && item !== null) open.push(item);
      continue;
    }
    // Made by JSON.parse, it has no keys but its own: `Object.values` would be slower.
    for (const key in next as JsonObject) {
      keys++;
      const value = (next as JsonObject)[key];
      if (typeof value === "object" && value !== null) open.push(value);
    }
  }
  return keys;
}
