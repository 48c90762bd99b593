/** Calls as Python writes them: `[weather(city="Oslo", days=[1, 2]), stop()]`. */
import type { Found, KnownTools, WrittenCall } from "./calls.js";
import { attempt, fail, LiteralReader } from "./literals.js";

/** Reads the list of calls at the beginning of a text. */
export function readPython(text: string, known: KnownTools): Found {
  return attempt(() => {
    const reader = new LiteralReader(text);
    reader.take("[");
    const calls = reader.several("]", () => callIn(reader, known));
    return calls.length === 0 ? fail() : { calls, end: reader.at };
  });
}

/** Reads the call at the beginning of a text. */
export function readPythonCall(text: string, known: KnownTools): Found {
  return attempt(() => {
    const reader = new LiteralReader(text);
    return { calls: [callIn(reader, known)], end: reader.at };
  });
}

function callIn(reader: LiteralReader, known: KnownTools): WrittenCall {
  const name = reader.match(/[\w.-]+/y);
  reader.take("(");
  if (!known.has(name)) fail();
  const args = reader.several(")", () => {
    const key = reader.match(/[\p{L}\p{M}\p{N}_.-]+/uy);
    reader.take("=");
    return `${JSON.stringify(key)}:${reader.value()}`;
  });
  return { name, args: `{${args.join(",")}}` };
}

/** A value as a literal. */
export function pythonOf(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([key, of]) => `${JSON.stringify(key)}: ${pythonOf(of)}`,
  );
  return `{${members.join(", ")}}`;
}
