/** In which lines of a chat template its parts stand: the library knows of none, and mistakes are found by them. */
import type { Jinja, Rendering } from "./bounded.js";

/** Part of a source, as the library cuts it. */
interface Token {
  readonly type: string;
  readonly value: string;
}

/** A statement, or an expression, of a template that was parsed. */
interface Block {
  readonly body?: readonly Block[];
  readonly alternate?: readonly Block[];
  readonly defaultBlock?: readonly Block[];
  /** Of `set`: `null` where it has a body. */
  readonly value?: unknown;
}

/** As the library's own templates are cut. */
const blocks = { lstrip_blocks: true, trim_blocks: true } as const;

/** A template that can't be parsed. */
export class TemplateSyntax extends Error {
  /** Where it stops being one, from 1. */
  readonly line: number;

  constructor(message: string, line: number) {
    super(`line ${line}: ${message}`);
    this.line = line;
  }
}

/** Why a template does not work, and where, as far as that is known. */
export function whyNot(thrown: unknown, rendering: Rendering | undefined): string {
  const why = thrown instanceof Error ? thrown.message.slice(0, 200) : "unknown reason";
  const line = thrown instanceof TemplateSyntax ? undefined : rendering?.lineOf(thrown);
  return line === undefined ? why : `line ${line}: ${why}`;
}

/**
 * Parses a template.
 * @returns its program
 * @throws TemplateSyntax if it can't be
 */
export function parsedTemplate(jinja: Jinja, source: string) {
  const tokens = cut(jinja, source);
  try {
    return jinja.parse(tokens);
  } catch (thrown) {
    const at = furthest(jinja, tokens);
    const isShort = at >= tokens.length;
    const place = placesOf(source, tokens)[isShort ? tokens.length - 1 : at] ?? 0;
    const why = isShort ? "it ends in the middle of a statement" : messageOf(thrown);
    throw new TemplateSyntax(why, lineAt(source, place));
  }
}

/** The lines of a program's statements and expressions, each from 1. */
export function linesOf(
  jinja: Jinja,
  source: string,
  program: object,
): ReadonlyMap<object, number> {
  const lines = new Map<object, number>();
  try {
    new Walk(source, cut(jinja, source), lines).through((program as Block).body);
  } catch {
    // Without them mistakes are told all the same.
  }
  return lines;
}

function cut(jinja: Jinja, source: string) {
  try {
    return jinja.tokenize(source, blocks);
  } catch (thrown) {
    throw new TemplateSyntax(messageOf(thrown), firstLineOf(jinja, source, messageOf(thrown)));
  }
}

/** The line up to which a source has to be read to have a mistake. */
function firstLineOf(jinja: Jinja, source: string, mistake: string): number {
  const ends = [...source.matchAll(/\n|$/g)].map(({ index }) => index);
  const hasIt = (line: number) => {
    try {
      jinja.tokenize(source.slice(0, ends[line - 1]), blocks);
      return false;
    } catch (thrown) {
      return messageOf(thrown) === mistake;
    }
  };
  let [low, high] = [1, ends.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (hasIt(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The last token that the library looks at, until it throws. */
function furthest(jinja: Jinja, tokens: ReturnType<Jinja["tokenize"]>): number {
  let last = 0;
  const watched = new Proxy(tokens, {
    get(all, key) {
      if (typeof key === "string" && /^\d+$/.test(key)) last = Math.max(last, Number(key));
      return Reflect.get(all, key);
    },
  });
  try {
    jinja.parse(watched);
  } catch {
    // This is what it is for.
  }
  return last;
}

/** Where each token begins. Between two of them stand blanks, and marks that take these away. */
function placesOf(source: string, tokens: readonly Token[]): number[] {
  let at = 0;
  return tokens.map(({ type, value }) => {
    const literal = type === "StringLiteral" ? /(["'])(?:\\.|(?!\1)[^\\])*\1/gs : undefined;
    if (literal) {
      literal.lastIndex = at;
      const found = literal.exec(source);
      at = found ? literal.lastIndex : at;
      return found?.index ?? at;
    }
    const text = value.trim();
    const found = source.indexOf(text, at);
    if (found < 0) return at;
    at = found + text.length;
    return found;
  });
}

const lineAt = (source: string, place: number): number => source.slice(0, place).split("\n").length;

const messageOf = (thrown: unknown) =>
  thrown instanceof Error ? thrown.message : "unknown reason";

/** Goes through a program and its tokens side by side. */
class Walk {
  readonly #tokens: readonly Token[];
  readonly #lines: Map<object, number>;
  /** Lines of tokens. */
  readonly #line: readonly number[];
  #at = 0;

  constructor(source: string, tokens: readonly Token[], lines: Map<object, number>) {
    this.#tokens = tokens;
    this.#lines = lines;
    let [line, before] = [1, 0];
    this.#line = placesOf(source, tokens).map((place) => {
      for (let i = source.indexOf("\n", before); i >= 0 && i < place; ) {
        line++;
        before = i + 1;
        i = source.indexOf("\n", before);
      }
      return line;
    });
  }

  through(body: readonly Block[] = []): void {
    for (const block of body) this.#block(block);
  }

  #block(block: Block): void {
    const { type } = this.#tokens[this.#at] ?? {};
    if (type !== "OpenStatement" && type !== "OpenExpression") {
      this.#at++;
      return;
    }
    this.#note(block);
    const word = this.#word;
    this.#pass();
    if (type === "OpenExpression") return;
    if (word === "if") this.#choice(block);
    else if (word === "for") {
      this.through(block.body);
      if (this.#word === "else") {
        this.#pass();
        this.through(block.defaultBlock);
      }
      this.#pass();
    } else if (["macro", "call", "filter"].includes(word) || (word === "set" && !block.value)) {
      this.through(block.body);
      this.#pass();
    }
  }

  /** What stands behind a condition, up to its end. */
  #choice({ body, alternate = [] }: Block): void {
    this.through(body);
    const word = this.#word;
    const [other] = alternate;
    if (word === "elif" && other) this.#note(other);
    this.#pass();
    if (word === "elif" && other) this.#choice(other);
    else if (word === "else") {
      this.through(alternate);
      this.#pass();
    }
  }

  #note(block: Block): void {
    this.#lines.set(block, this.#line[this.#at] ?? 1);
  }

  /** The first word of a statement. */
  get #word(): string {
    return this.#tokens[this.#at + 1]?.value ?? "";
  }

  /** Passes over a statement, or an expression. */
  #pass(): void {
    while (
      !/^Close(?:Statement|Expression)$/.test(this.#tokens[this.#at]?.type ?? "CloseStatement")
    )
      this.#at++;
    this.#at++;
  }
}
