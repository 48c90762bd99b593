/** Kinds of data that are found by their form, and by checksums where they have one. */
import { ibanLengths } from "./iban-lengths.js";

/** A part of a text, from its first character to behind its last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Finds one kind of thing. */
export interface Finder {
  /**
   * All of them, in their order. None is empty, none overlaps.
   * @param isLate whether it has taken long already: then the rest behind the first counts as found, too
   */
  find(text: string, isLate?: () => boolean): Span[];
  /** From where on a text that goes on may have the begin of one; its length: nowhere. */
  open(text: string): number;
}

/** Where the characters before a place begin that are all of one class, of so many at most. */
function runBefore(text: string, end: number, of: RegExp, most: number): number {
  let at = end;
  while (at > 0 && end - at < most && of.test(text[at - 1] as string)) at--;
  return at;
}

/** The same at the end of a text. */
const runAtEnd = (text: string, of: RegExp, most: number): number =>
  runBefore(text, text.length, of, most);

const spansOf = (text: string, pattern: RegExp): Span[] =>
  Array.from(text.matchAll(pattern), ({ index, 0: found }) => ({
    start: index,
    end: index + found.length,
  }));

/** What stands in JSON for the end of a line, and so on: a word may begin behind it. */
const jsonEscape = "\\\\(?:[nrt]|u[\\da-fA-F]{4})";
const isLineEscape = /\\[nrt]/;

/** Halves of letters that are none of UTF-16's own count as letters. */
const inLocalPart = /[\p{L}\p{N}._%+\ud800-\udfff-]/u;
const mostLocal = 64;
const domain =
  /(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,8}(?:xn--[a-z0-9-]{1,59}|\p{L}{2,63})/uy;

const email: Finder = {
  find(text) {
    const found: Span[] = [];
    for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
      const run = runBefore(text, at, inLocalPart, mostLocal);
      // The letter of an escape is none of its own.
      const begin =
        run + 1 < at && isLineEscape.test(text.slice(Math.max(0, run - 1), run + 1))
          ? run + 1
          : run;
      const start = Math.max(begin, found.at(-1)?.end ?? 0);
      domain.lastIndex = at + 1;
      if (start < at && domain.test(text)) found.push({ start, end: domain.lastIndex });
    }
    return found;
  },
  open: (text) => runAtEnd(text, /[\p{L}\p{N}._%+@\ud800-\udfff-]/u, 320),
};

/** What may be digits in groups, as they stand on a card. */
const digits = /[\d \u00a0-]{13,}/g;

/** Numbers of cards by how they begin, and how long they are. */
const cards: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^(?:30[0-5]|36|3[89])/, [14]],
  [/^(?:6011|64[4-9]|65|62|35(?:2[89]|[3-8]\d))/, [16, 17, 18, 19]],
  [/^(?:50|5[6-8]|6[37])/, [16, 17, 18, 19]],
];

/** ISO/IEC 7812-1, Luhn's checksum. */
function isLuhn(number: string): boolean {
  let sum = 0;
  for (let i = 0; i < number.length; i++) {
    const digit = number.charCodeAt(number.length - 1 - i) - 0x30;
    const doubled = i % 2 === 1 ? 2 * digit : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

const isCard = (number: string): boolean =>
  number.length >= fewestDigits &&
  isLuhn(number) &&
  cards.some(([begin, lengths]) => lengths.includes(number.length) && begin.test(number));

const fewestDigits = 13;
/** Longest number of a card, and that with a blank between all of its digits. */
const mostDigits = 19;
const longestCard = 2 * mostDigits - 1;

const creditCard: Finder = {
  find(text) {
    const found: Span[] = [];
    for (const run of spansOf(text, digits)) {
      const groups = spansOf(text.slice(run.start, run.end), /\d+/g);
      for (let i = 0; i < groups.length; i++) {
        const last = cardFrom(text, run.start, groups, i);
        if (last === undefined) continue;
        found.push({
          start: run.start + (groups[i] as Span).start,
          end: run.start + (groups[last] as Span).end,
        });
        i = last;
      }
    }
    return found;
  },
  open(text) {
    const run = runAtEnd(text, /[\d \u00a0-]/, longestCard);
    const first = text.slice(run).search(/\d/);
    return first < 0 ? text.length : run + first;
  },
};

/** The last group of the card that begins with a group; of several the longest. */
function cardFrom(
  text: string,
  at: number,
  groups: readonly Span[],
  first: number,
): number | undefined {
  let number = "";
  let last: number | undefined;
  for (let i = first; i < groups.length; i++) {
    const { start, end } = groups[i] as Span;
    const isApart = i > first && start - (groups[i - 1] as Span).end > 1;
    if (isApart || number.length + end - start > mostDigits) break;
    number += text.slice(at + start, at + end);
    if (isCard(number)) last = i;
  }
  return last;
}

const wordBegin = `(?:(?<![\\p{L}\\p{N}])|(?<=${jsonEscape}))`;
const ibanBegin = new RegExp(`${wordBegin}[A-Z]{2}\\d{2}`, "giu");
/** The same, as far as it is there. */
const ibanBegun = new RegExp(`${wordBegin}[A-Z]{2}(?:\\d{2}|\\d?$)|${wordBegin}[A-Z]$`, "giu");
const inIban = /[ \u00a0-]?([A-Z0-9])/iy;

const iban: Finder = {
  find(text) {
    const found: Span[] = [];
    let behind = 0;
    for (const { index: start, 0: begin } of text.matchAll(ibanBegin)) {
      const length = ibanLengths[begin.slice(0, 2).toUpperCase()];
      if (length === undefined || start < behind) continue;
      let number = begin;
      inIban.lastIndex = start + begin.length;
      let end = inIban.lastIndex;
      while (number.length < length) {
        const next = inIban.exec(text);
        if (!next) break;
        number += next[1];
        end = inIban.lastIndex;
      }
      const goesOn = /^[\p{L}\p{N}]/u.test(text.slice(end, end + 2));
      if (number.length < length || goesOn || !isIban(number.toUpperCase())) continue;
      found.push({ start, end });
      behind = end;
    }
    return found;
  },
  open(text) {
    const from = runAtEnd(text, /[A-Z0-9 \u00a0-]/i, longestIban);
    // What stands before the run tells whether a word begins there.
    ibanBegun.lastIndex = from;
    return ibanBegun.exec(text)?.index ?? text.length;
  },
};

/** Of the longest, with a blank between all of its letters and digits. */
const longestIban = 2 * 33 - 1;

/** ISO 13616: what is behind the first four, then these, as one number of letters from 10, is 1 modulo 97. */
function isIban(number: string): boolean {
  let rest = 0;
  for (const sign of number.slice(4) + number.slice(0, 4)) {
    const value = Number.parseInt(sign, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

/** Keys whose makers begin them with something to find them by, and JSON web tokens. */
const keys = new RegExp(
  `(?:(?<![A-Za-z0-9])|(?<=${jsonEscape}))(?:${[
    // OpenAI, Anthropic, OpenRouter, DeepSeek and others.
    "sk-[\\w-]{20,}",
    // Stripe.
    "[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    // GitHub, GitLab.
    "gh[oprsu]_[A-Za-z0-9]{30,}",
    "github_pat_\\w{22,}",
    "glpat-[\\w-]{20,}",
    // AWS, Google, Slack, SendGrid.
    "A(?:KIA|SIA)[A-Z0-9]{16}",
    "AIza[\\w-]{35}",
    "xox[a-z]-[A-Za-z0-9-]{10,}",
    "SG\\.[\\w-]{16,64}\\.[\\w-]{16,}",
    // Hugging Face, npm, Groq, xAI, NVIDIA.
    "hf_[A-Za-z0-9]{30,}",
    "npm_[A-Za-z0-9]{36}",
    "gsk_[A-Za-z0-9]{40,}",
    "xai-[A-Za-z0-9]{40,}",
    "nvapi-[\\w-]{40,}",
    // Lintel itself.
    "lt_[\\w-]{43}",
    // A JSON web token: its first part is an object in base64.
    "eyJ[\\w-]{10,512}\\.[\\w-]{10,}[\\w.-]*",
  ].join("|")})`,
  "g",
);

const apiKey: Finder = {
  find: (text) => spansOf(text, keys),
  // The first part of a web token is up to 512.
  open: (text) => runAtEnd(text, /[\w.-]/, 600),
};

/** How a key begins in PEM, up to the last whole line ahead of its own; `\n` may stand for the ends of lines. */
const pemHead =
  "-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----(?:\\s|\\\\[nr]){0,8}(?:[A-Z][A-Za-z-]{1,20}: [\\w,-]{1,60}(?:\\s|\\\\[nr]){1,8}){0,4}";
/** A key as OpenSSL and OpenSSH write it, also without its end, or with half of it. */
const pem = new RegExp(
  `${pemHead}[A-Za-z0-9+/=\\s\\\\]*(?:-----END [A-Z0-9 ]{0,60}-{0,5}|-{1,5}(?:EN?D?)?$)?`,
  "g",
);
/** One that ends in a line ahead of its own, such as that of how it is encrypted. */
const pemAhead = new RegExp(`${pemHead}[A-Z][A-Za-z-]{0,20}(?::[ ]?[\\w,-]{0,60})?$`);
const pemBegin = "-----BEGIN";
/** Longest first line of one, and more; and with the lines ahead of its own. */
const longestLine = 90;
const longestHead = 600;

const privateKey: Finder = {
  find: (text) => spansOf(text, pem),
  open(text) {
    const end = text.slice(-longestHead);
    const ahead = pemAhead.exec(end);
    if (ahead) return text.length - end.length + ahead.index;
    const begun = text.slice(-longestLine).lastIndexOf(pemBegin);
    if (begun >= 0) return Math.max(0, text.length - longestLine) + begun;
    for (let length = pemBegin.length - 1; length > 0; length--) {
      if (text.endsWith(pemBegin.slice(0, length))) return text.length - length;
    }
    return text.length;
  },
};

/** By the names that the configuration has for them. */
export const kinds = {
  email,
  credit_card: creditCard,
  iban,
  api_key: apiKey,
  private_key: privateKey,
} as const satisfies Record<string, Finder>;

/** Name of a kind. */
export type Kind = keyof typeof kinds;
