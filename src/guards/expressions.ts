/**
 * Regular expressions of the operator's own, in RE2's syntax: what one search takes grows with the length
 * of a text and no faster, whatever they and the text are. V8's own may take for ever. But of `a.*b|c`
 * each search may go to the end of the text, and there is one behind each match.
 */
import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import type { Finder, Span } from "./finder.js";

/** Only who has some of their own waits for the library to be read. */
const load = () => createRequire(import.meta.url)("re2js") as typeof import("re2js");

/** What is wrong with an expression; `undefined`: nothing. */
export function wrongWith(expression: string): string | undefined {
  try {
    load().RE2JS.compile(expression);
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/^error parsing regexp: /, "");
  }
}

/** How much of the end of a text that goes on may be the begin of what an expression fits, characters. */
const longestMatch = 256;

/** Finds what an expression fits. @throws Error if it is none */
export function finderOf(expression: string): Finder {
  const compiled: RE2JS = load().RE2JS.compile(expression);
  return {
    find(text, isLate = () => false) {
      const found: Span[] = [];
      const matcher = compiled.matcher(text);
      while (matcher.find()) {
        const [start, end] = [matcher.start(), matcher.end()];
        const late = isLate();
        const until = late ? text.length : end;
        if (until > start) found.push({ start, end: until });
        if (late) break;
      }
      return found;
    },
    open: (text) => Math.max(0, text.length - longestMatch),
  };
}
