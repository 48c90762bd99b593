/**
 * Regular expressions as grammars. RE2 makes an automaton of them: each of its states is a rule, whose alternatives are
 * the characters that may follow and the states behind them. So no rule begins with itself, however the expression
 * repeats what may be empty.
 */
import { invalidFields } from "../../core/errors.js";
import { compileRe2, faultIn } from "../../core/re2.js";
import { anyOf, type CodePoints, type Gbnf, Unsupported } from "./gbnf.js";

/** A step of the automaton, as re2js has it. */
interface Step {
  readonly op: number;
  readonly out: number;
  /** Of an alternative: the other step; of what stands between characters: what that has to be; else flags. */
  readonly arg: number;
  /** Of characters: one, or pairs of those that a range goes from and to. */
  readonly runes: readonly number[];
}

/** What steps do. */
const ops = {
  ...{ alternative: 1, alternativeEnd: 2, capture: 3, between: 4, fail: 5, end: 6, nothing: 7 },
  ...{ runes: 8, rune: 9, any: 10, anyInLine: 11 },
} as const;

/** What may be asked for between characters. */
const textBegin = 4;
const textEnd = 8;

/** That case makes no difference. */
const foldsCase = 1;

/** Alternatives of one grammar: a state has as many as there are ways to go on. */
const mostWays = 20_000;

/** A state: which characters lead where, and whether the text may end here. */
interface State {
  readonly ways: Map<number, CodePoints[]>;
  ends: boolean;
}

/**
 * The name of a rule for the texts all of which match an expression.
 * @throws LintelError `invalid_fields` if it is none
 * @throws Unsupported where a grammar can't say it
 */
export function regexIn(expression: string, grammar: Gbnf): string {
  const { inst: steps, start } = programOf(expression);
  const states = statesOf(steps, start);
  const ending = endingOf(states);
  if (!ending.has(start)) throw new Unsupported("nothing that matches it");
  const names = new Map([...ending].map((at) => [at, grammar.reserve()]));
  for (const [at, { ways, ends }] of states) {
    const name = names.get(at);
    if (name === undefined) continue;
    const going = [...ways].flatMap(([to, ranges]) => {
      const next = names.get(to);
      return next === undefined ? [] : [`${grammar.rule(anyOf(ranges))} ${next}`];
    });
    grammar.define(name, [...going, ...(ends ? ['""'] : [])].join(" | "));
  }
  return names.get(start) as string;
}

function programOf(expression: string): { readonly inst: readonly Step[]; readonly start: number } {
  try {
    return compileRe2(expression).re2().prog;
  } catch (error) {
    const message = `must be a regular expression in RE2's syntax: ${faultIn(error)}`;
    throw invalidFields([{ field: "response_format.regex", message }], "elsewhere");
  }
}

/** The states that can be reached, by the steps that they begin with. */
function statesOf(steps: readonly Step[], start: number): Map<number, State> {
  const states = new Map<number, State>();
  const open = [start];
  let left = mostWays;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (states.has(at)) continue;
    const state = stateAt(steps, at, at === start);
    states.set(at, state);
    left -= state.ways.size + 1;
    if (left < 0) throw new Unsupported("so many ways to go on");
    open.push(...state.ways.keys());
  }
  return states;
}

/** @param isFirst whether nothing stands before it */
function stateAt(steps: readonly Step[], from: number, isFirst: boolean): State {
  const state: State = { ways: new Map(), ends: false };
  const open = [{ at: from, isLast: false }];
  const seen = new Set<string>();
  for (let next = open.pop(); next; next = open.pop()) {
    const { at, isLast } = next;
    const key = `${at} ${isLast}`;
    const step = steps[at];
    if (!step || seen.has(key)) continue;
    seen.add(key);
    switch (step.op) {
      case ops.alternative:
      case ops.alternativeEnd:
        open.push({ at: step.arg, isLast }, { at: step.out, isLast });
        break;
      case ops.between: {
        if ((step.arg & ~(textBegin | textEnd)) !== 0) {
          throw new Unsupported("bounds of words or lines");
        }
        const mayStand = isFirst || (step.arg & textBegin) === 0;
        const ends = isLast || (step.arg & textEnd) !== 0;
        if (mayStand) open.push({ at: step.out, isLast: ends });
        break;
      }
      case ops.capture:
      case ops.nothing:
        open.push({ at: step.out, isLast });
        break;
      case ops.fail:
        break;
      case ops.end:
        state.ends = true;
        break;
      default:
        // Behind an end nothing follows.
        if (!isLast) {
          const ranges = charactersOf(step).filter(([, to]) => to > 0);
          if (ranges.length > 0) listAt(state.ways, step.out).push(...ranges);
        }
    }
  }
  return state;
}

/** A map's list at a place, which is empty at first. */
function listAt<T>(map: Map<number, T[]>, at: number): T[] {
  const list = map.get(at) ?? [];
  map.set(at, list);
  return list;
}

function charactersOf({ op, arg, runes }: Step): CodePoints[] {
  switch (op) {
    case ops.any:
      return [[0, 0x10ffff]];
    case ops.anyInLine:
      return [
        [0, 9],
        [11, 0x10ffff],
      ];
    case ops.rune:
    case ops.runes:
      if (runes.length === 1) return casesOf(runes[0] as number, arg);
      return Array.from(
        { length: runes.length / 2 },
        (_, i): CodePoints => [runes[2 * i] as number, runes[2 * i + 1] as number],
      );
    default:
      throw new Unsupported("a part of this kind");
  }
}

function casesOf(rune: number, flags: number): CodePoints[] {
  const letter = String.fromCodePoint(rune);
  const cases =
    (flags & foldsCase) === 0 ? [letter] : [letter, letter.toLowerCase(), letter.toUpperCase()];
  // Of some letters a case is two.
  const alone = cases.filter((one) => [...one].length === 1);
  return [...new Set(alone.map((one) => one.codePointAt(0) as number))].map((one) => [one, one]);
}

/** Those from which a text can end. */
function endingOf(states: ReadonlyMap<number, State>): Set<number> {
  const before = new Map<number, number[]>();
  for (const [at, { ways }] of states) {
    for (const to of ways.keys()) listAt(before, to).push(at);
  }
  const open = [...states].filter(([, { ends }]) => ends).map(([at]) => at);
  const ending = new Set<number>();
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (ending.has(at)) continue;
    ending.add(at);
    open.push(...(before.get(at) ?? []));
  }
  return ending;
}
