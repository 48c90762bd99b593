/**
 * Regular expressions in RE2's syntax: what one search takes grows with the length of a text and no faster, whatever
 * they and the text are. V8's own may take for ever.
 */
import { createRequire } from "node:module";
import type { RE2JS } from "re2js";

/** Only who has some waits for the library to be read. */
const load = () => createRequire(import.meta.url)("re2js") as typeof import("re2js");

/** An expression, ready for use. @throws Error if it is none, see {@link faultIn} */
export const compileRe2 = (expression: string): RE2JS => load().RE2JS.compile(expression);

/** What is wrong with an expression, by the error that compiling it gave. */
export const faultIn = (error: unknown): string =>
  (error as Error).message.replace(/^error parsing regexp: /, "");
