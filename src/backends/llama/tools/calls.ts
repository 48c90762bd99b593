/** Reads what stands behind the mark of a call. */
import { isObject, type JsonObject } from "../../../core/json.js";
import { jsonEnd } from "../../../core/json-end.js";
import { embeddedJson, parseMarked } from "../../../core/long-numbers.js";
import { type NamedCall, pythonEnd, type ToolForm } from "./form.js";
import { attempt, fail, LiteralReader } from "./literals.js";
import { Place } from "./place.js";
import { readPython, readPythonCall } from "./python.js";
import { readTagged } from "./tagged.js";

/** A call that a model wrote. */
export interface WrittenCall {
  readonly name: string;
  /** JSON of an object. */
  readonly args: string;
}

/** The tools that may be called: schemas of their arguments, by name. */
export type KnownTools = ReadonlyMap<string, JsonObject>;

/** What a text begins with: calls and where they end; `more`: it may become some; `none`: nothing does. */
export type Found =
  | { readonly calls: readonly WrittenCall[]; readonly end: number }
  | "more"
  | "none";

/**
 * Reads the calls at the beginning of a text.
 * @param text without the mark
 */
export function readCalls(text: string, form: ToolForm, known: KnownTools): Found {
  const { begin, call } = form;
  const place = new Place(text);
  if (begin === "" && !place.passOne({ text: pythonEnd, isOptional: true })) return "more";
  const from = place.next();
  if (from < 0) return "more";
  if (text[from] === "[" && (begin === "" || call.as === "python")) {
    const inside = /\S/.exec(text.slice(from + 1))?.[0];
    if (inside === undefined) return "more";
    if (inside !== "{") return later(readPython(text.slice(from), known), from);
  }
  if (text[from] === "{" || text[from] === "[") return inJson(text, from, call, known);
  if (call.as === "tagged") return readTagged(text, call, known);
  if (call.as === "python" && /\w/.test(text[from] ?? "")) {
    return later(readPythonCall(text.slice(from), known), from);
  }
  return call.as === "named" ? inNamed(text, call, known) : "none";
}

/** What was found in a part of a text. @param from where that begins */
const later = (found: Found, from: number): Found =>
  typeof found === "string" ? found : { ...found, end: found.end + from };

function inNamed(text: string, { head, quote }: NamedCall, known: KnownTools): Found {
  const place = new Place(text);
  const [before, behind] = head;
  if (!before.every((mark) => place.passOne(mark))) return place.failure;
  const name = place.name();
  if (name === undefined || !behind.every((mark) => place.passOne(mark))) return place.failure;
  if (!place.sees(["{"])) return place.failure;
  const begin = text.indexOf("{", place.at);
  if (quote !== undefined) {
    return attempt(() => {
      const reader = new LiteralReader(text, begin, quote);
      const args = reader.value();
      return known.has(name) ? { calls: [{ name, args }], end: reader.at } : fail();
    });
  }
  const end = jsonEnd(text, begin);
  if (end === undefined) return "more";
  const args = argsOf(text.slice(begin, end));
  return args === undefined || !known.has(name) ? "none" : { calls: [{ name, args }], end };
}

function inJson(text: string, from: number, form: ToolForm["call"], known: KnownTools): Found {
  const end = jsonEnd(text, from);
  if (end === undefined) return "more";
  const value = parseMarked(text.slice(from, end));
  const calls = (Array.isArray(value) ? value : [value]).map((call) => callOf(call, form, known));
  const all = calls.filter((call) => call !== undefined);
  return all.length === 0 || all.length < calls.length ? "none" : { calls: all, end };
}

/** A call in JSON; also of models that write it otherwise, as a rule. */
function callOf(call: unknown, form: ToolForm["call"], known: KnownTools): WrittenCall | undefined {
  if (!isObject(call)) return undefined;
  const [[key, value] = ["", undefined], ...others] = Object.entries(call);
  if (form.as === "keyed" && others.length === 0 && isObject(value)) {
    const args = embeddedJson(value);
    return known.has(key) && args !== undefined ? { name: key, args } : undefined;
  }
  const it = isObject(call.function) ? call.function : call;
  const own = form.as === "json" ? form : undefined;
  const name = (own && it[own.name]) ?? it.name;
  const args = argsOf((own && it[own.args]) ?? it.arguments ?? it.parameters ?? {});
  if (typeof name !== "string" || !known.has(name) || args === undefined) return undefined;
  return { name, args };
}

/** The call of a tool by its name; `undefined` where it is none, or its arguments are no object. */
export function namedCall(name: string, args: string, known: KnownTools): WrittenCall | undefined {
  const text = argsOf(args.trim() || "{}");
  return text === undefined || !known.has(name) ? undefined : { name, args: text };
}

/** Arguments as JSON; some models write them as a text of JSON. */
function argsOf(value: unknown): string | undefined {
  const args = typeof value === "string" ? parseMarked(value) : value;
  return isObject(args) ? embeddedJson(args) : undefined;
}
