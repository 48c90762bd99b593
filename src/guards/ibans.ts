/** Numbers of bank accounts. */
import { betweenGroups, type Finder, jsonEscape, runAtEnd, type Span } from "./finder.js";
import { ibanLengths } from "./iban-lengths.js";

const wordBegin = `(?:(?<![\\p{L}\\p{N}])|(?<=${jsonEscape}))`;
const ibanBegin = new RegExp(`${wordBegin}[A-Z]{2}\\d{2}`, "giu");
/** The same, as far as it is there. */
const ibanBegun = new RegExp(`${wordBegin}[A-Z]{2}(?:\\d{2}|\\d?$)|${wordBegin}[A-Z]$`, "giu");
const inIban = new RegExp(`[${betweenGroups}]?([A-Z0-9])`, "iuy");
const ofIban = new RegExp(`[A-Z0-9${betweenGroups}]`, "iu");

/** Numbers of bank accounts, also in groups. */
export const iban: Finder = {
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
    const from = runAtEnd(text, ofIban, longestIban);
    // What stands before the run tells whether a word begins there.
    ibanBegun.lastIndex = from;
    return ibanBegun.exec(text)?.index ?? text.length;
  },
};

/** Of the longest, with something between all of its letters and digits. */
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
