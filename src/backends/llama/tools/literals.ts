/** Literals of Python, of JSON, and with marks around texts, as JSON. */

/** There is not enough of a text to read on. */
const cut = Symbol("cut");
/** It is none of what is read. */
const wrong = Symbol("wrong");

/** What is read; `more`: it may become something; `none`: it does not. @param read may throw as a reader does */
export function attempt<T>(read: () => T): T | "more" | "none" {
  try {
    return read();
  } catch (thrown) {
    if (thrown === cut) return "more";
    // Literals may stand within each other so often that no stack holds them.
    if (thrown === wrong || thrown instanceof RangeError) return "none";
    throw thrown;
  }
}

/** Constants, also as JSON has them. */
const constants: ReadonlyMap<string, string> = new Map([
  ...["True", "true"].map((name) => [name, "true"] as const),
  ...["False", "false"].map((name) => [name, "false"] as const),
  ...["None", "null"].map((name) => [name, "null"] as const),
]);

const escapes: ReadonlyMap<string, string> = new Map([
  ...["\\\\", "''", '""', "n\n", "r\r", "t\t", "b\b", "f\f", "v\v", "a\x07", "//"].map(
    ([name = "", meant = ""]) => [name, meant] as const,
  ),
  ["\n", ""],
]);

/** Goes through a text, and makes JSON of its literals; throws where it is cut, or none. */
export class LiteralReader {
  readonly #text: string;
  readonly #quote: string | undefined;
  #at: number;

  /**
   * @param from where to begin
   * @param quote what may stand around texts besides quotes, and names of members then need none; absent: nothing
   */
  constructor(text: string, from = 0, quote?: string) {
    this.#text = text;
    this.#at = from;
    this.#quote = quote;
  }

  /** Behind what was read. */
  get at(): number {
    return this.#at;
  }

  /** A literal, as JSON. */
  value(): string {
    const first = this.next();
    if (this.#sees(this.#quote)) return JSON.stringify(this.#marked(this.#quote));
    // Of what is nothing some templates write nothing.
    if (this.#quote && /[,}\]]/.test(first)) return "null";
    if (first === '"' || first === "'") return JSON.stringify(this.#string(first));
    if (first === "[" || first === "(") {
      this.#at++;
      return `[${this.several(first === "[" ? "]" : ")", () => this.value()).join(",")}]`;
    }
    if (first === "{") {
      this.#at++;
      return `{${this.several("}", () => this.#member()).join(",")}}`;
    }
    if (/[\d.+-]/.test(first)) return this.#number();
    return constants.get(this.match(/\w+/y)) ?? fail();
  }

  #member(): string {
    const key = this.#key();
    if (/^[[{]/.test(key)) throw wrong;
    this.take(":");
    return `${key.startsWith('"') ? key : JSON.stringify(key)}:${this.value()}`;
  }

  #key(): string {
    const isBare = this.#quote !== undefined && /[^"'<({[:,]/.test(this.next());
    return isBare ? JSON.stringify(this.match(/[^"'<>(){}[\]:,]+/y).trimEnd()) : this.value();
  }

  /** Whether a mark stands there. */
  #sees(mark: string | undefined): mark is string {
    if (mark === undefined || this.#text.startsWith(mark, this.#at)) return mark !== undefined;
    if (mark.startsWith(this.#text.slice(this.#at))) throw cut;
    return false;
  }

  /** What stands between two marks. */
  #marked(mark: string): string {
    const begin = this.#at + mark.length;
    const end = this.#text.indexOf(mark, begin);
    if (end < 0) throw cut;
    this.#at = end + mark.length;
    return this.#text.slice(begin, end);
  }

  #number(): string {
    const written = this.match(/[-+]?[\d._]*(?:[eE][-+]?\d*)?/y).replaceAll("_", "");
    if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(written)) return written;
    const value = Number(written || Number.NaN);
    return Number.isFinite(value) ? String(value) : fail();
  }

  #string(quote: string): string {
    const text = this.#text;
    const from = this.#at;
    // Two quotes are an empty text, or the beginning of three.
    if (text.startsWith(quote, from + 1) && from + 2 >= text.length) throw cut;
    const end = text.startsWith(quote.repeat(3), from) ? quote.repeat(3) : quote;
    this.#at += end.length;
    let value = "";
    while (!text.startsWith(end, this.#at)) {
      if (this.#at >= text.length) throw cut;
      value += text[this.#at] === "\\" ? this.#escape() : text[this.#at++];
    }
    this.#at += end.length;
    return value;
  }

  #escape(): string {
    const rest = this.#text.slice(this.#at + 1, this.#at + 11);
    const [written = "", two, four, eight, octal] =
      /^(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3}))/.exec(rest) ?? [];
    const code = octal
      ? Number.parseInt(octal, 8)
      : Number.parseInt(two ?? four ?? eight ?? "", 16);
    if (code <= 0x10ffff) {
      this.#at += 1 + written.length;
      return String.fromCodePoint(code);
    }
    const [letter] = rest;
    if (letter === undefined) throw cut;
    this.#at += 1 + letter.length;
    return escapes.get(letter) ?? `\\${letter}`;
  }

  /** What stands between commas, up to a bracket; a comma may stand behind the last one. */
  several<T>(close: string, one: () => T): T[] {
    const all: T[] = [];
    while (this.next() !== close) {
      all.push(one());
      if (this.next() === ",") this.#at++;
      else if (this.next() !== close) throw wrong;
    }
    this.#at++;
    return all;
  }

  /** Passes over a letter. */
  take(letter: string): void {
    if (this.next() !== letter) throw wrong;
    this.#at++;
  }

  /** What follows, and may go on where a text ends. */
  match(pattern: RegExp): string {
    this.next();
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? fail();
    this.#at += found.length;
    if (this.#at === this.#text.length) throw cut;
    return found;
  }

  /** The next letter that is no blank. */
  next(): string {
    while (/\s/.test(this.#text[this.#at] ?? "")) this.#at++;
    return this.#text[this.#at] ?? fail(cut);
  }
}

/** Says that something is none of what is read. */
export function fail(why: symbol = wrong): never {
  throw why;
}
