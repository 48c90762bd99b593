/** What is wrong with a file's syntax, in words that say what to write instead. */
import type { YAMLParseError } from "yaml";

/** A mistake of syntax, before it is known on which line it stands. */
export interface SyntaxMistake {
  readonly offset: number;
  readonly message: string;
}

/** The mistakes that the parser found: one for each place, where it stands. */
export function syntaxMistakes(errors: readonly YAMLParseError[], text: string): SyntaxMistake[] {
  // Where the content has ended, each further word and sign is an error of its own: one says it all.
  const behind = errors.findIndex(isBehindContent);
  const own = errors.filter((error, i) => i <= behind || !isBehindContent(error));
  const nested = own.filter(({ code }) => code === "BLOCK_AS_IMPLICIT_KEY");
  const multiline = own.filter(({ code }) => code === "MULTILINE_IMPLICIT_KEY");
  const sameStart = (one: YAMLParseError) => (other: YAMLParseError) => one.pos[0] === other.pos[0];
  return own
    .filter((error) => error.code !== "MULTILINE_IMPLICIT_KEY" || !nested.some(sameStart(error)))
    .map((error) => mistakeOf(error, text, multiline.find(sameStart(error))?.pos[1]))
    .map(({ offset, message }) => ({ offset, message: withHints(message, text, offset) }));
}

/** Whether it is about what follows where the content has ended. */
const isBehindContent = ({ code, message }: YAMLParseError): boolean =>
  code === "UNEXPECTED_TOKEN" && message.includes(" token in YAML stream");

/**
 * @param end where a key ends that is on several lines, for example since it is a value and,
 *   indented further below it, the next key
 */
function mistakeOf(error: YAMLParseError, text: string, end: number | undefined): SyntaxMistake {
  const { code, message } = error;
  const [offset] = error.pos;
  const here = (message: string) => ({ offset, message });
  if (isBehindContent(error)) {
    return here(
      "what stands above is complete: nothing may follow it (a # may be missing there, or a bracket be too many)",
    );
  }
  switch (code) {
    case "MULTIPLE_DOCS":
      return here("another document begins here: a file has one only");
    case "BLOCK_AS_IMPLICIT_KEY":
      if (end === undefined) {
        return here('a value with ": " in it must be in quotes, and a further key on its own line');
      }
      return {
        offset: lineBegin(text, end),
        message:
          "this line is indented further than the key above it, which has its value: keys of one mapping begin at the same column",
      };
    case "MULTILINE_IMPLICIT_KEY":
      return here('here "key: value" must stand: a key, a colon, a blank, and the value');
    case "DUPLICATE_KEY": {
      const [key] = /^[\w.-]+/.exec(text.slice(offset)) ?? [];
      return here(key ? `the key ${key} stands here a second time` : message);
    }
    case "BAD_INDENT":
      return { offset: lineBegin(text, offset), message };
    case "BAD_SCALAR_START":
      return here(`${message}: put it in quotes`);
    case "BAD_ALIAS":
      return here(`${message}: put a text that begins with * in quotes`);
    case "MISSING_CHAR":
      return missing(error, text);
    default:
      return here(message);
  }
}

function missing({ message, pos: [offset] }: YAMLParseError, text: string): SyntaxMistake {
  const [, quote] = /^Missing closing (["'])quote$/.exec(message) ?? [];
  // The parser names where the text ends that was never closed.
  if (quote) {
    const begin = text.lastIndexOf(quote, offset - 1);
    return { offset: Math.max(begin, 0), message: `the quote ${quote} here has no second one` };
  }
  if (message.startsWith("Sequence item without -")) {
    return {
      offset: lineBegin(text, offset),
      message:
        "this line belongs to no entry of the list above: a further key begins below the entry's first one, and another entry with a -",
    };
  }
  return { offset, message };
}

/** Where the line has its first sign that is no blank. */
function lineBegin(text: string, offset: number): number {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return start + (/^ */.exec(text.slice(start))?.[0].length ?? 0);
}

/** Spaces that look like a blank, and are none to YAML: web pages and word processors have them. */
export const otherSpaces = /[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff]/;

/** A message, and what of its line may be the reason. */
function withHints(message: string, text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const end = text.indexOf("\n", offset);
  const line = text.slice(start, end < 0 ? undefined : end);
  const first = message.split("\n", 1)[0] ?? message;
  // `${NAME}` opens a mapping where YAML's brackets are; its own message does not help then.
  if (/[[{].*[^"']\$\{/.test(line)) return `${first} (inside [ ] and { }, quote "\${NAME}")`;
  return otherSpaces.test(line) && start > 0 ? `${first} (${spaceHint})` : first;
}

/** What to do about one of `otherSpaces`. */
export const spaceHint = "a space on this line is no blank, but looks like one: type it anew";
