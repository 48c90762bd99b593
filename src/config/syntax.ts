/** What is wrong with a file's syntax, in words that say what to write instead. */
import { type Document, isCollection, visit, type YAMLParseError } from "yaml";

/** A mistake of syntax, before it is known on which line it stands. */
export interface SyntaxMistake {
  readonly offset: number;
  readonly message: string;
}

/** The mistakes that the parser found: one for each line, where it stands. */
export function syntaxMistakes(document: Document.Parsed, text: string): SyntaxMistake[] {
  const { errors } = document;
  const conflict = /^<{7} /m.exec(text);
  if (conflict && errors.length > 0) {
    return [
      { offset: conflict.index, message: "two versions stand here: Git could not merge them" },
    ];
  }
  // Where the content has ended, each further word and sign is an error of its own: one says it all.
  const behind = errors.findIndex(isBehindContent);
  const own = errors.filter((error, i) => i <= behind || !isBehindContent(error));
  const nested = own.filter(({ code }) => code === "BLOCK_AS_IMPLICIT_KEY");
  const multiline = own.filter(({ code }) => code === "MULTILINE_IMPLICIT_KEY");
  const sameStart = (one: YAMLParseError) => (other: YAMLParseError) => one.pos[0] === other.pos[0];
  const lines = new Set<number>();
  return own
    .filter((error) => error.code !== "MULTILINE_IMPLICIT_KEY" || !nested.some(sameStart(error)))
    .map(
      (error) =>
        tabBefore(error.pos[0], text) ??
        mistakeOf(error, document, text, multiline.find(sameStart(error))?.pos[1]),
    )
    .filter(({ offset }) => lines.size < lines.add(lineStart(text, offset)).size)
    .map(({ offset, message }) => ({ offset, message: withHints(message, text, offset) }));
}

/** Whether it is about what follows where the content has ended. */
const isBehindContent = ({ code, message }: YAMLParseError): boolean =>
  code === "UNEXPECTED_TOKEN" && message.includes(" token in YAML stream");

const elsewhere =
  "this can't be read: look at the colons, quotes and brackets here, and at where this line begins";

/**
 * @param end where a key ends that is on several lines, for example since it is a value and,
 *   indented further below it, the next key
 */
function mistakeOf(
  error: YAMLParseError,
  document: Document.Parsed,
  text: string,
  end: number | undefined,
): SyntaxMistake {
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
      if (/^-[a-z_]+: /.test(text.slice(lineBegin(text, offset), offset))) {
        return { offset: lineBegin(text, offset), message: "a blank is missing behind this -" };
      }
      return {
        offset: lineBegin(text, end),
        message:
          "this line is indented further than the key above it, which has its value: keys of one mapping begin at the same column",
      };
    case "MULTILINE_IMPLICIT_KEY":
      return here(noPair(text.slice(offset)));
    case "BLOCK_IN_FLOW":
      return here(
        'either a comma is missing in this, between a value and the next key, or a value with ": " in it must be in quotes',
      );
    case "DUPLICATE_KEY": {
      const [key = "this key"] = /^[\w.-]+/.exec(text.slice(offset)) ?? [];
      return here(`${key === "this key" ? key : `the key ${key}`} stands here a second time`);
    }
    case "TAB_AS_INDENT":
      return here(noTabs);
    case "BAD_INDENT":
      return unclosed(document, text) ?? column(message, text, offset);
    case "BAD_SCALAR_START":
    case "BAD_ALIAS":
      return here(`a text that begins with ${text[offset]} must be in quotes`);
    case "BAD_DQ_ESCAPE":
      return here(
        'a \\ between " and " begins a sign that can\'t be typed, and none is written like this: write \\\\, or \' instead of "',
      );
    case "BAD_DIRECTIVE":
      return here("a line can't begin with %");
    case "MISSING_CHAR":
      return missing(error, document, text);
    case "UNEXPECTED_TOKEN":
      return here(unexpected(message));
    default:
      return here(elsewhere);
  }
}

function missing({ message, pos }: YAMLParseError, document: Document.Parsed, text: string) {
  const [offset] = pos;
  const here = (message: string): SyntaxMistake => ({ offset, message });
  const [, quote] = /^Missing closing (["'])quote$/.exec(message) ?? [];
  // The parser names where the text ends that was never closed.
  if (quote) {
    const open = quote === '"' ? /"(?:[^"\\]|\\.)*$/s : /'(?:[^']|'')*$/s;
    const begin = open.exec(text.slice(0, offset))?.index ?? offset;
    return { offset: begin, message: `the quote ${quote} here has no second one` };
  }
  if (message.startsWith("Sequence item without -")) return noEntry(text, offset);
  if (message.startsWith("Implicit map keys")) return here(noPair(text.slice(offset)));
  if (message.startsWith("Comments must")) return here("a blank is missing before this #");
  if (message.startsWith("Missing space after :")) return here(colonHint);
  if (/^Missing ,( or :)? between/.test(message)) {
    const list = message.includes("sequence") || !message.includes("or :");
    return here(`a comma${list ? "" : " or a colon"} is missing before this`);
  }
  if (message.startsWith("Missing directives"))
    return here("a line above begins with %: no key can");
  return (/ must end with a /.test(message) && unclosed(document, text)) || here(elsewhere);
}

function unexpected(message: string): string {
  if (message.endsWith(" at node end")) {
    return "the value before this is complete: quotes go around all of it, and a further key on its own line";
  }
  if (/^Unexpected (,|empty item) /.test(message)) return "there is a comma too many before this";
  if (message.startsWith("Block scalar header")) {
    return "text of several lines begins on the line below its | or >, and other text with these in quotes";
  }
  if (/^Unexpected \S+-scalar token$/.test(message)) return "a comma is missing before this";
  return message.includes("block-seq-ind") ? "a list begins on the line below its key" : elsewhere;
}

/** What stands where a key and its value must. */
function noPair(found: string): string {
  if (found.startsWith("- ")) return "inside of brackets a list is written [a, b], without -";
  if (/^[a-z_]+:\S/.test(found)) return colonHint;
  return 'here "key: value" must stand: a key, a colon, a blank, and the value';
}

/** A line that begins where nothing of what stands above does. */
function column(message: string, text: string, offset: number): SyntaxMistake {
  const begin = lineBegin(text, offset);
  const indent = begin - lineStart(text, offset);
  const above = text.slice(0, begin).trimEnd().split("\n");
  // Of the lines above that begin no further, the last: an entry of a list, which this is none of.
  const entry = above.reverse().find((line) => line.trim() !== "" && line.search(/\S/) <= indent);
  if (entry?.trimStart().startsWith("- ")) return noEntry(text, offset);
  const keys = message.includes("mapping");
  return {
    offset: begin,
    message: `this line begins at another column than those it belongs to: ${keys ? "keys of one mapping" : "entries of one list"} begin at the same column`,
  };
}

const noEntry = (text: string, offset: number): SyntaxMistake => ({
  offset: lineBegin(text, offset),
  message:
    "this line belongs to no entry of the list above: a further key begins below the entry's first one, and another entry with a -",
});

/** The innermost bracket that is never closed. */
function unclosed(document: Document.Parsed, text: string): SyntaxMistake | undefined {
  let found: SyntaxMistake | undefined;
  visit(document, {
    Collection(_key, node) {
      if (!isCollection(node) || !node.flow || !node.range) return;
      const [begin, end] = node.range;
      const bracket = text[begin] ?? "";
      const closing = bracket === "{" ? "}" : "]";
      if (text[end - 1] === closing && end - 1 > begin) return;
      found = { offset: begin, message: `the ${bracket} here has no ${closing}` };
    },
  });
  return found;
}

/** What there is to say of a line that is indented by a tab. */
function tabBefore(offset: number, text: string): SyntaxMistake | undefined {
  const start = lineStart(text, offset);
  const [before = ""] = /^[ \t]*/.exec(text.slice(start)) ?? [];
  const tab = before.indexOf("\t");
  return tab < 0 ? undefined : { offset: start + tab, message: noTabs };
}

const noTabs = "a tab stands here: lines are indented by blanks";

const lineStart = (text: string, offset: number): number => text.lastIndexOf("\n", offset - 1) + 1;

/** Where the line has its first sign that is no blank. */
function lineBegin(text: string, offset: number): number {
  const start = lineStart(text, offset);
  return start + (/^ */.exec(text.slice(start))?.[0].length ?? 0);
}

/** Spaces that look like a blank, and are none to YAML: web pages and word processors have them. */
export const otherSpaces = /[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff]/;

/** A message, and what of its line may be the reason. */
function withHints(message: string, text: string, offset: number): string {
  const start = lineStart(text, offset);
  const end = text.indexOf("\n", offset);
  const line = text.slice(start, end < 0 ? undefined : end);
  // `${NAME}` opens a mapping where YAML's brackets are; its own message does not help then.
  if (/[[{].*[^"']\$\{/.test(line)) return `${message} (inside [ ] and { }, quote "\${NAME}")`;
  return otherSpaces.test(line) && start > 0 ? `${message} (${spaceHint})` : message;
}

/** What to do about one of `otherSpaces`. */
export const spaceHint = "a space on this line is no blank, but looks like one: type it anew";

/** What to do about `key:value`. */
export const colonHint = "a blank is missing behind the colon";
