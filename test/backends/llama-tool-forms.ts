/** Reads answers in which tools are called. */
import type { KnownTools, WrittenCall } from "../../src/backends/llama/tools/calls.js";
import { toolFormOf } from "../../src/backends/llama/tools/families.js";
import type { ToolForm } from "../../src/backends/llama/tools/form.js";
import { CallReader, type Read } from "../../src/backends/llama/tools/reader.js";

/** The form of a template. */
export const form = (template: string): ToolForm => {
  const found = toolFormOf(`{% if tools %}${template}{% endif %}`);
  if (!found) throw new Error("no form");
  return found;
};
/** Tools without a schema. */
const some: KnownTools = new Map([
  ["weather", {}],
  ["add", {}],
]);

/** The calls that came out of an answer. */
export const callsOf = (read: Read): WrittenCall[] =>
  read.filter((part) => typeof part !== "string");

/** What becomes of an answer that comes in pieces. */
export function read(form: ToolForm, pieces: readonly string[], known = some) {
  const reader = new CallReader(form, known);
  const all = [...pieces.map((piece) => reader.push(piece)), reader.flush()];
  const steps = all.map((read) => read.filter((part) => typeof part === "string").join(""));
  return {
    text: steps.join(""),
    calls: all.flatMap(callsOf).map(({ name, args }) => [name, JSON.parse(args)]),
    steps,
  };
}

/** The pieces of a text, cut at each place alone, at two, and letter by letter. */
export function* cuts(text: string): Generator<string[]> {
  yield [...text];
  for (let a = 0; a <= text.length; a++) {
    yield [text.slice(0, a), text.slice(a)];
    yield [text.slice(0, a), text.slice(a, a + 7), text.slice(a + 7)];
  }
}
