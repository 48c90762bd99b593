/** Numbers of cards. */
import { betweenGroups, type Finder, runAtEnd, type Span, spansOf, withoutEnd } from "./finder.js";

/** What may be digits in groups. */
const digits = new RegExp(withoutEnd(`[\\d${betweenGroups}]{13,}`), "gu");
const inDigits = new RegExp(`[\\d${betweenGroups}]`, "u");

/** What stands between groups on a card: there each of them may be as long as it likes, and each blank another one. */
const onCards = "[\\p{Zs}\\p{Pd}\\u2212]";
const loose = new RegExp(`^${onCards}$`, "u");

/** Numbers of cards by how they begin, and how long they are. */
const cards: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^(?:30[0-5]|36|3[89])/, [14]],
  [/^(?:6011|64[4-9]|65|62|35(?:2[89]|[3-8]\d))/, [16, 17, 18, 19]],
  [/^(?:50|5[6-8]|6[37])/, [16, 17, 18, 19]],
];
const fewestDigits = 13;
const mostDigits = 19;
/** Most characters between two groups. */
const longestGap = 3;
/** Longest group where something else stands between them than on a card. */
const longestGroup = 6;
/** A digit in each group, and the next group, which tells whether the number is one of a longer list. */
const longestCard = mostDigits + mostDigits * longestGap + longestGroup;

/** Dates in the midst of what may be groups: two of them beside each other have as many digits as a card. */
const date = /(?<!\d)(?:(?:19|20)\d\d-\d\d-\d\d|\d\d-\d\d-(?:19|20)\d\d)(?!\d)/;
/** Phone numbers of North America beside each other: two of them have as many digits as a card, and more. */
const phone = `(?:1${onCards})?[2-9]\\d\\d${onCards}[2-9]\\d\\d${onCards}\\d{4}(?!\\d)`;
const phones = new RegExp(`(?<!\\d)${phone}(?:${onCards}${phone})+`, "gu");
/** With what tells where it begins, and more. */
const longestPhone = 16;
/** Digits of a card that a phone number behind a `+` may have as well, such as one of Germany, E.164. */
const asPhone = 13;

/** An id as UUIDs are written, or 32 digits in hex and more, as hashes have: some have as many digits behind each other as a card. */
const hex = /(?<![\da-z])(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{32,128})(?![\da-z])/gi;
/** Most characters of one. */
const longestHex = 128;

/** First digit of all of them. */
const mayBegin = /[2-6]/;
/** Most digits that tell how long one is. */
const longestBegin = 4;

/** How long a card may be that begins with these digits. */
const lengthsOf = (digits: string): readonly number[] =>
  cards.flatMap(([begin, lengths]) => (begin.test(digits) ? lengths : []));

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

/** Numbers of cards, as they stand there or with something else between their groups. */
export const creditCard: Finder = {
  find(text) {
    const found: Span[] = [];
    for (const { start, end } of spansOf(text, digits)) {
      const run = new Run(text.slice(start, end), text[start - 1] === "+");
      for (let i = 0; i < run.groups.length; i++) {
        const last = run.cardFrom(i);
        if (last === undefined) continue;
        const [from, to] = [run.groups[i] as Span, run.groups[last] as Span];
        const card = { start: start + from.start, end: start + to.end };
        if (!isInHex(text, card)) found.push(card);
        i = last;
      }
    }
    return found;
  },
  open(text) {
    const run = runAtEnd(text, inDigits, longestCard);
    const first = text.slice(run).search(/\d/);
    const begun = first < 0 ? text.length : run + first;
    // What follows tells whether it is an id or a hash.
    const inHex = runAtEnd(text, /[\da-f-]/i, longestHex);
    const count = text.slice(inHex).replace(/\D/g, "").length;
    return count < fewestDigits ? begun : Math.min(begun, inHex);
  },
};

/** Whether a part is one of an id or a hash that has letters, too. */
function isInHex(text: string, { start, end }: Span): boolean {
  if (!/[a-f-]/i.test(text.charAt(start - 1) + text.charAt(end))) return false;
  const from = Math.max(0, start - longestHex);
  const around = text.slice(from, end + longestHex);
  return spansOf(around, hex).some(
    (it) =>
      from + it.start <= start &&
      end <= from + it.end &&
      /[a-f]/i.test(around.slice(it.start, it.end)),
  );
}

/** Groups of digits, with little between them. */
class Run {
  readonly groups: readonly Span[];
  readonly #text: string;
  readonly #isBehindPlus: boolean;
  /** What stands ahead of each group, and whether that may stand between groups of any length. */
  readonly #gaps: readonly string[];
  readonly #isLoose: readonly boolean[];
  /** All digits, and where those of each group begin among them. */
  readonly #digits: string;
  readonly #offsets: readonly number[];

  constructor(text: string, isBehindPlus: boolean) {
    this.#text = text;
    this.#isBehindPlus = isBehindPlus;
    this.groups = spansOf(text, /\d+/g);
    this.#gaps = this.groups.map(({ start }, i) => text.slice(this.groups[i - 1]?.end ?? 0, start));
    this.#isLoose = this.#gaps.map((gap) => loose.test(gap));
    this.#digits = this.groups.map(({ start, end }) => text.slice(start, end)).join("");
    const offsets: number[] = [];
    let before = 0;
    for (const { start, end } of this.groups) {
      offsets.push(before);
      before += end - start;
    }
    this.#offsets = offsets;
  }

  /** The last group of the card that begins with a group; of several the longest. */
  cardFrom(first: number): number | undefined {
    const begin = this.groups[first]?.start ?? 0;
    if (!mayBegin.test(this.#text[begin] ?? "") || this.#isInRow(first)) return undefined;
    const mayBePhone = this.#isBehindPlus && begin === 0;
    // Texts of such groups alone have as many begins as they have groups.
    const from = this.#offsets[first] ?? 0;
    const lengths = lengthsOf(this.#digits.slice(from, from + longestBegin));
    if (lengths.length === 0) return undefined;
    let count = 0;
    let last: number | undefined;
    let isLoose = !this.#isFraction(first);
    for (let i = first; i < this.groups.length; i++) {
      const gap = this.#gaps[i] ?? "";
      if (i > first) {
        isLoose &&= this.#isLoose[i] === true;
        const isAlike = gap.length <= longestGap && gap === this.#gaps[first + 1];
        if (!isLoose && !isAlike) break;
      }
      count += this.#length(i);
      if (count > mostDigits) break;
      if (!lengths.includes(count) || (mayBePhone && count === asPhone)) continue;
      if (!isLuhn(this.#digits.slice(from, from + count))) continue;
      const { end } = this.groups[i] as Span;
      if (this.#isInRow(i + 1)) continue;
      if (isLoose ? !this.#isOther(begin, end) : this.#isAlone(first, i)) last = i;
    }
    return last;
  }

  /** Whether a part is two dates, or of phone numbers that stand beside each other, each of them whole. */
  #isOther(begin: number, end: number): boolean {
    const from = Math.max(0, begin - longestPhone);
    const around = this.#text.slice(from, end + longestPhone);
    return (
      date.test(this.#text.slice(begin, end)) ||
      spansOf(around, phones).some((row) => from + row.start <= begin && end <= from + row.end)
    );
  }

  /** Whether a digit follows another as it is followed: of a row of them each part has as many as a card. */
  #isInRow(i: number): boolean {
    return this.#length(i - 1) === 1 && this.#length(i) === 1;
  }

  #length(i: number): number {
    const { start, end } = this.groups[i] ?? { start: 0, end: 0 };
    return end - start;
  }

  /** Whether a group is what stands behind the point of a number: many of these have as many digits as a card. */
  #isFraction = (i: number): boolean => i > 0 && this.#gaps[i] === ".";

  /**
   * Whether groups with the same between all of them are as long as a card's, and no part of a longer
   * list: unlike two addresses of IPv4, fractions, thousands, columns of a table.
   */
  #isAlone(first: number, last: number): boolean {
    const lengths = this.groups.slice(first, last + 1).map((_, i) => this.#length(first + i));
    const [length = 0] = lengths;
    const isEven =
      length <= longestGroup &&
      lengths.every((it, i) => it === length || (i === lengths.length - 1 && it < length));
    if (!isEven && !/^4,6,[45]$/.test(lengths.join())) return false;
    const gap = this.#gaps[last];
    const goesOn = (i: number, gapAt: number) =>
      this.#length(i) === length && this.#gaps[gapAt] === gap;
    return !(first > 0 && goesOn(first - 1, first)) && !goesOn(last + 1, last + 1);
  }
}
