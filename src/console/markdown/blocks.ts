/** Markdown taken apart, also while it comes in. */
import { Lexer, type MarkedOptions, type Token, type Tokens } from "marked";

/** A formula, which is shown as it is written: Markdown would take its marks for its own. */
const formula = (level: "inline" | "block") => {
  const form = /^(?:\$\$[\s\S]{1,4000}?\$\$|\\\[[\s\S]{1,4000}?\\\]|\\\([\s\S]{1,4000}?\\\))/;
  const alone = new RegExp(`${form.source}[ \\t]*(?:\\n|$)`);
  // Of one dollar only what does not look like prices.
  const inline = new RegExp(`${form.source}|^\\$(?![\\s$])[^$\\n]{0,300}?(?<![\\s$])\\$(?![\\d$])`);
  return (source: string): Tokens.Generic | undefined => {
    const [raw] = (level === "block" ? alone : inline).exec(source) ?? [];
    return raw === undefined ? undefined : { type: "formula", raw, text: raw.trimEnd() };
  };
};

const options: MarkedOptions = {
  gfm: true,
  extensions: {
    block: [formula("block")],
    inline: [formula("inline")],
    startInline: [(source) => source.indexOf("$")],
    renderers: {},
    childTokens: {},
  },
};

/** Characters of one run of text, of which a longer one is shown as it is: some take the lexer the square of it. */
const longestRun = 10_000;

/** The blocks of a whole text. */
export function blocksOf(text: string): Token[] {
  const lexer = new Lexer(options);
  try {
    const blocks = lexer.blockTokens(text.replace(/\r\n?/g, "\n"), lexer.tokens);
    for (const { src, tokens } of lexer.inlineQueue) {
      if (src.length > longestRun) tokens.push(plain(src));
      else lexer.inlineTokens(src, tokens);
    }
    return blocks;
  } catch {
    // What stands within itself too often for the stack.
    return [{ type: "paragraph", raw: text, text, tokens: [plain(text)] }];
  }
}

const plain = (text: string): Tokens.Text => ({ type: "text", raw: text, text, escaped: true });

/**
 * A text that grows. What can't change any more is taken apart once, and stays the same objects; the rest
 * is shown so that it does not flicker: marks of which nobody knows yet what they begin are left out.
 */
export class Growing {
  #text = "";
  #settled: Token[] = [];
  /** Characters of what is settled. */
  #length = 0;

  /** The blocks so far. */
  blocks(said: string): readonly Token[] {
    const text = said.replace(/\r\n?/g, "\n");
    if (!text.startsWith(this.#text)) {
      this.#settled = [];
      this.#length = 0;
    }
    this.#text = text;
    const source = withoutMarks(text.slice(this.#length));
    const open = blocksOf(source);
    // The last one may go on.
    const last = open.at(-1)?.type === "space" ? open.length - 2 : open.length - 1;
    for (const block of open.splice(0, Math.max(last, 0))) {
      this.#settled.push(block);
      this.#length += block.raw.length;
    }
    return [...this.#settled, ...steady(open)];
  }
}

/** Without a last line of which there are only marks: of a list, a rule, the end of a fence, a table. */
function withoutMarks(source: string): string {
  const begin = source.lastIndexOf("\n") + 1;
  const line = source.slice(begin);
  const marks = /^[-*+_=#|:~`> \t]+(?:\d{1,9}[.)]?[ \t]*)?$|^\d{1,9}[.)]?[ \t]*$/;
  return line.length < 200 && marks.test(line) ? source.slice(0, begin) : source;
}

/** Without a line that may be the head of a table, and with the text alone of a link whose address comes in. */
function steady(blocks: Token[]): readonly Token[] {
  const last = blocks.at(-1);
  if (last?.type !== "paragraph") return blocks;
  const now = last.raw
    .replace(/(^|\n) {0,3}\|[^\n]*\n?$/, "$1")
    .replace(/!?\[([^[\]\n]*)\]\([^()\s]*$/, "$1");
  if (now === last.raw) return blocks;
  return [...blocks.slice(0, -1), ...(now.trim() === "" ? [] : blocksOf(now))];
}
