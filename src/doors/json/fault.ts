/** Where a text stops being JSON. What stands there is not said: bodies have secrets. */
import { below, isKnown, type Known } from "./known.js";

const blanks = /[ \t\n\r]*/y;
const numberOrWord = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const escaped = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** In words, behind `the body is not valid JSON`. */
export function describeFault(text: string): string {
  const at = faultIn(text);
  if (at === undefined || at === text.length) return "it ends too early";
  return place(text, at);
}

/** Likewise, where a key that is read stands a second time in one object; `undefined`: none does. */
export function describeTwice(text: string, known: Known): string | undefined {
  const at = faultIn(text, known);
  return at === undefined ? undefined : place(text, at);
}

function place(text: string, at: number): string {
  const lines = text.slice(0, at).split("\n");
  return `see line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}

/**
 * Position of the first character that can't stand where it does; the text's length where
 * something is missing behind it; `undefined` if nothing is wrong.
 * @param unique keys that are wrong where their object has them already
 */
export function faultIn(text: string, unique: Known = false): number | undefined {
  /** What is to be closed. */
  const open: string[] = [];
  /** The keys of each of these, where one was looked at. */
  const keys: (Set<string> | undefined)[] = [];
  /** Which of their keys count. */
  const counts: Known[] = [];
  let value = unique;
  let wants: "value" | "first value" | "key" | "first key" | "more" = "value";
  for (let at = 0; ; ) {
    at = behind(blanks, text, at) ?? at;
    const next = text[at];
    const inside = open.at(-1);
    if (next === undefined) return wants === "more" && inside === undefined ? undefined : at;
    if (wants === "more") {
      if (next === "," && inside !== undefined) wants = inside === "}" ? "key" : "value";
      else if (next === inside) open.pop();
      else return at;
      at++;
    } else if (next === inside && wants.startsWith("first")) {
      open.pop();
      wants = "more";
      at++;
    } else if (wants === "key" || wants === "first key") {
      if (next !== '"') return at;
      const end = endOfString(text, at);
      if (end < 0) return ~end;
      const known = counts[open.length] ?? false;
      value = false;
      if (known !== false) {
        const key = JSON.parse(text.slice(at, end)) as string;
        const before = keys[open.length];
        if (before?.has(key)) return at;
        if (isKnown(known, key)) keys[open.length] = (before ?? new Set()).add(key);
        value = below(known, key);
      }
      at = behind(blanks, text, end) ?? end;
      if (text[at] !== ":") return at;
      wants = "value";
      at++;
    } else if (next === "{" || next === "[") {
      // Items of a list are read as the list is.
      if (inside === "]") value = counts[open.length] ?? false;
      open.push(next === "{" ? "}" : "]");
      keys[open.length] = undefined;
      counts[open.length] = value;
      wants = next === "{" ? "first key" : "first value";
      at++;
    } else {
      const end = next === '"' ? endOfString(text, at) : (behind(numberOrWord, text, at) ?? ~at);
      if (end < 0) return ~end;
      at = end;
      wants = "more";
    }
  }
}

/** Where a match that begins there ends. */
function behind(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** Where a string ends that begins there; `~` of where it is wrong. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at + 1;
    if (code < 0x20) return ~at;
    if (code !== 0x5c) at++;
    else {
      const end = behind(escaped, text, at);
      if (end === undefined) return ~at;
      at = end;
    }
  }
  return ~text.length;
}
