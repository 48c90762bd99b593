/**
 * Regular expressions of the operator's own, in RE2's syntax. Of `a.*b|c` each search may go to the end of the text,
 * and there is one behind each match.
 */
import { compileRe2, faultIn } from "../core/re2.js";
import type { Finder, Span } from "./finder.js";

/** What is wrong with an expression; `undefined`: nothing. */
export function wrongWith(expression: string): string | undefined {
  try {
    compileRe2(expression);
    return undefined;
  } catch (error) {
    return faultIn(error);
  }
}

/** How much of the end of a text that goes on may be the begin of what an expression fits, characters. */
const longestMatch = 256;

/** Finds what an expression fits. @throws Error if it is none */
export function finderOf(expression: string): Finder {
  const compiled = compileRe2(expression);
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
