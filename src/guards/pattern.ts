/** Looks for what has a form: kinds of data, and expressions of the operator's. */
import type { Checker, Verdict } from "../core/guards/guard.js";
import { openCode, undisguised } from "./disguise.js";
import { finderOf } from "./expressions.js";
import type { Finder, Span } from "./finder.js";
import { type Kind, kinds } from "./kinds.js";

/** What it looks for, and what happens then. */
export interface PatternSettings {
  /** Name of the guard, which stands for what its own expressions found. */
  readonly name: string;
  readonly find: readonly Kind[];
  /** In RE2's syntax. */
  readonly patterns: readonly string[];
  readonly action: "block" | "mask" | "flag";
}

/** A finder with its names. */
interface Named extends Finder {
  /** For the log. */
  readonly name: string;
  /** What stands in the place of what it found. */
  readonly mark: string;
}

/** What was found, and by whom. */
interface Found extends Span {
  readonly by: Named;
}

/** Of a text that goes on, most characters that are held back, however long a thing may become. */
const mostHeld = 8192;

/** Longest time that matches of expressions are sought in what is looked at at once, milliseconds. */
const longestMs = 2000;

/**
 * @param now milliseconds
 * @throws Error if an expression is none
 */
export function patternChecker(
  { name, find, patterns, action }: PatternSettings,
  now: () => number = () => performance.now(),
): Required<Checker> {
  const finders: Named[] = [
    ...find.map((kind) => ({ ...kinds[kind], name: kind, mark: `[${kind}]` })),
    ...patterns.map((expression, i) => ({
      ...finderOf(expression),
      name: `patterns[${i}]`,
      mark: `[${name}]`,
    })),
  ];

  const verdictOn = (
    found: readonly (readonly Found[])[],
    texts: readonly { readonly field?: string; readonly text: string }[],
  ): Verdict => {
    const at = found.findIndex((inText) => inText.length > 0);
    if (at < 0) return { action: "pass" };
    const names = [...new Set(found.flat().map(({ by }) => by.name))];
    switch (action) {
      case "flag":
        return { action, found: names };
      case "block":
        return { action, found: names, field: texts[at]?.field };
      case "mask": {
        const masked = texts.map(({ text }, i) => withMarks(text, found[i] ?? []));
        return { action: "replace", found: names, texts: masked };
      }
    }
  };

  /** What tells from now on that it takes too long. */
  const clock = () => {
    const since = now();
    return () => now() - since > longestMs;
  };

  return {
    check(texts) {
      const isLate = clock();
      return verdictOn(
        texts.map(({ text, member }) => allIn(text, finders, isLate, member)),
        texts,
      );
    },
    look(before, text, more) {
      // What stands ahead tells where words begin, and what is the rest of a longer thing.
      const from = before.length;
      const said = before + text;
      const isLate = clock();
      let { upTo, found } = lookAt(said, from, more, finders, isLate);
      if (more && said.length - upTo >= mostHeld) {
        ({ upTo, found } = lookAt(said, from, false, finders, isLate));
      }
      const told = found
        .filter(({ end }) => end <= upTo)
        .map((one) => ({ ...one, start: one.start - from, end: one.end - from }));
      const length = upTo - from;
      return { upTo: length, verdict: verdictOn([told], [{ text: text.slice(0, length) }]) };
    },
  };
}

/**
 * What is found behind a place of a text, and up to where it can be told.
 * @param goesOn whether more comes, so that what is open at the end is held back
 */
function lookAt(
  said: string,
  from: number,
  goesOn: boolean,
  finders: readonly Named[],
  isLate: () => boolean,
): { readonly upTo: number; readonly found: readonly Found[] } {
  // Of a code that is not complete nobody knows what it stands for.
  const whole = goesOn ? said.slice(0, Math.max(openCode(said), from)) : said;
  const found = allIn(whole, finders, isLate).flatMap((one) =>
    one.end <= from ? [] : [{ ...one, start: Math.max(one.start, from) }],
  );
  if (!goesOn) return { upTo: whole.length, found };
  const upTo = wholeUpTo(whole, Math.max(openIn(whole, finders), from));
  // Of what is found there, or at the end of all, the rest may still come.
  const cut = found.find(({ start, end }) => start < upTo && (end > upTo || end === whole.length));
  return { upTo: cut?.start ?? upTo, found };
}

/** A place in a text, or the one before where it would divide a character. */
const wholeUpTo = (text: string, at: number): number =>
  /[\ud800-\udbff]/.test(text[at - 1] ?? "") ? at - 1 : at;

/** From where on something may begin in a text that goes on, as it is written, or without its disguise. */
function openIn(text: string, finders: readonly Finder[]): number {
  const openFrom = (text: string) => Math.min(...finders.map((finder) => finder.open(text)));
  const plain = undisguised(text);
  return Math.min(openFrom(text), plain ? plain.at(openFrom(plain.text)) : text.length);
}

/**
 * All that is found, in its order, in a text as it is written, and without its disguise; what overlaps is one, of the first.
 * @param member name of what it is, where it has one
 */
function allIn(
  text: string,
  finders: readonly Named[],
  isLate: () => boolean,
  member?: string,
): Found[] {
  const plain = undisguised(text);
  const findIn = (by: Finder, text: string): Span[] => {
    const found = by.find(text, isLate);
    return member && by.behind ? [...found, ...by.behind(member, text)] : found;
  };
  const all = finders
    .flatMap((by) => {
      const plainly = plain ? findIn(by, plain.text).map(plain.spanOf) : [];
      return [...findIn(by, text), ...plainly].map((span) => ({ ...span, by }));
    })
    .sort((a, b) => a.start - b.start || b.end - a.end);
  const found: Found[] = [];
  for (const one of all) {
    const last = found.at(-1);
    if (!last || one.start >= last.end) found.push(one);
    else if (one.end > last.end) found[found.length - 1] = { ...last, end: one.end };
  }
  return found;
}

function withMarks(text: string, found: readonly Found[]): string {
  let out = "";
  let copied = 0;
  for (const { start, end, by } of found) {
    out += text.slice(copied, start) + by.mark;
    copied = end;
  }
  return out + text.slice(copied);
}
