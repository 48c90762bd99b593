/** Reads calls whose arguments stand between marks, as in XML. */
import { embeddedJson } from "../../../core/long-numbers.js";
import type { Found, KnownTools } from "./calls.js";
import { marksIn, nextOf, type TaggedCall } from "./form.js";
import { nestedValue } from "./nested.js";
import { Place } from "./place.js";
import { argumentOf, ownSchema } from "./values.js";

/**
 * Reads the call at the beginning of a text; blanks may stand between its marks.
 * @param text without the mark in front of calls
 */
export function readTagged(text: string, form: TaggedCall, known: KnownTools): Found {
  const place = new Place(text);
  const [open, close] = form.name.map(marksIn) as [string[], string[]];
  if (!place.pass(open)) return place.failure;
  const name = place.name();
  if (name === undefined) return place.failure;
  const isOpen =
    form.tagEnd === undefined ? place.pass(close) : place.upTo(form.tagEnd) !== undefined;
  if (!isOpen) return place.failure;
  const schema = known.get(name);
  if (!schema) return "none";
  const args: [string, unknown][] = [];
  for (;;) {
    const argument = readArgument(place, form);
    if (argument === undefined) return place.failure;
    if (argument === "none") break;
    const { key, written, isText } = argument;
    args.push([
      key,
      form.tags === undefined
        ? argumentOf(written, schema, key, isText)
        : nestedValue(written, form.tags, schema, ownSchema(schema, key)),
    ]);
  }
  if (!place.pass(marksIn(form.close))) return place.failure;
  const all = embeddedJson(Object.fromEntries(args));
  return all === undefined ? "none" : { calls: [{ name, args: all }], end: place.at };
}

/** An argument as it is written. */
interface Argument {
  readonly key: string;
  readonly written: string;
  /** Whether it says of itself that it is a text. */
  readonly isText: boolean;
}

/** The next argument; `none`: there are no more; `undefined`: it is not whole. */
function readArgument(place: Place, form: TaggedCall): Argument | "none" | undefined {
  const [open, is] = form.key.map(marksIn) as [string[], string[]];
  const from = place.at;
  if (!place.pass(open)) return place.isShort ? undefined : "none";
  const [firstIs = "", ...restIs] = is;
  const key = place.upTo(firstIs);
  if (key === undefined) return undefined;
  if (form.tags !== undefined && key.startsWith("/")) {
    place.at = from;
    return "none";
  }
  let isText: boolean;
  if (form.tagEnd === undefined) {
    isText = place.pass(restIs);
    if (!isText && !(form.json && place.pass(marksIn(form.json).slice(1)))) return undefined;
  } else {
    const attributes = place.upTo(form.tagEnd);
    if (attributes === undefined) return undefined;
    isText = attributes.includes('"string"');
  }
  const [next = "", ...others] = marksIn(nextOf(form, key));
  const begin = place.at;
  if (form.around && !passAround(place, form.around)) return undefined;
  // A value may have marks in it: it ends where another argument follows, or the end of the call.
  for (;;) {
    if (place.upTo(next) === undefined) return undefined;
    const end = place.at - next.length;
    const behind = place.copy();
    if (behind.pass(others) && (behind.sees(open) || behind.sees(marksIn(form.close)))) {
      place.at = behind.at;
      const written = withoutMarks(place.text.slice(begin, end), form.around);
      return {
        key: key.trim(),
        written: form.next.startsWith("\n") ? withoutFrame(written) : written,
        isText: isText && form.json !== undefined,
      };
    }
    if (behind.isShort) {
      place.isShort = true;
      return undefined;
    }
  }
}

/**
 * Passes over a value that has marks around it: others may stand in it.
 * @returns whether that, or another value, stands there
 */
function passAround(place: Place, [open, close]: readonly [string, string]): boolean {
  const it = place.copy();
  if (!it.pass([open])) {
    place.isShort = it.isShort;
    return !it.isShort;
  }
  const isWhole = it.upTo(close) !== undefined;
  place.isShort = it.isShort;
  place.at = it.at;
  return isWhole;
}

/** A value without the marks that may stand around it. */
function withoutMarks(value: string, around: TaggedCall["around"]): string {
  const [open, close] = around ?? ["", ""];
  const inner = value.trim();
  const isMarked = around && inner.startsWith(open) && inner.endsWith(close);
  return isMarked ? inner.slice(open.length, -close.length) : value;
}

/** Without the line breaks that marks have around a value. */
const withoutFrame = (value: string) => value.replace(/^\r?\n/, "").replace(/\r?\n$/, "");
