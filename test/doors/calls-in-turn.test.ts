/** Calls of a stream whose pieces come in turns, one after the other. */
import { expect, test, vi } from "vitest";
import { toolCall } from "../../src/core/tool-calls.js";
import { CallsInTurn } from "../../src/doors/anthropic/calls-in-turn.js";

const argumentsOf = (pieces: ReturnType<CallsInTurn["take"]>) =>
  pieces.map((piece) => piece.function?.arguments).join("");

test("arguments are not read again with each piece: of long ones that takes all the time there is", () => {
  const turns = new CallsInTurn();
  const parse = vi.spyOn(JSON, "parse");
  let first = argumentsOf(turns.take(toolCall(0, "a", "write", '{"text":"')));
  for (let i = 0; i < 1000; i++) {
    first += argumentsOf(turns.take(toolCall(0, "", "", "word ")));
    expect(turns.take(toolCall(1, i === 0 ? "b" : "", "", i === 0 ? '{"n":' : "1"))).toEqual([]);
  }
  const [last, ...next] = turns.take(toolCall(0, "", "", '"}\n'));
  expect(parse.mock.calls.length).toBeLessThan(5);
  parse.mockRestore();
  expect(JSON.parse(first + last?.function?.arguments)).toEqual({ text: "word ".repeat(1000) });
  expect(argumentsOf(next)).toBe(`{"n":${"1".repeat(999)}`);
});

test("neither where each piece ends as an object does, nor with pieces of the next call", () => {
  const turns = new CallsInTurn();
  const parse = vi.spyOn(JSON, "parse");
  turns.take(toolCall(0, "a", "write", '{"text":"\\"{'));
  turns.take(toolCall(1, "b", "write", "{"));
  for (let i = 0; i < 1000; i++) {
    turns.take(toolCall(0, "", "", i % 2 === 0 ? "}" : "\\\\}"));
    expect(turns.take(toolCall(1, "", "", "1"))).toEqual([]);
  }
  expect(turns.take(toolCall(0, "", "", '"'))).toHaveLength(1);
  expect(argumentsOf(turns.take(toolCall(0, "", "", " } ")))).toBe(` }{${"1".repeat(1000)}`);
  expect(parse.mock.calls.length).toBeLessThan(5);
  parse.mockRestore();
});

test("of several that wait each follows the one before it", () => {
  const turns = new CallsInTurn();
  const told = (...piece: Parameters<typeof toolCall>) =>
    turns.take(toolCall(...piece)).map(({ index, function: called }) => [index, called?.arguments]);
  expect(told(0, "a", "f", '{"n":')).toEqual([[0, '{"n":']]);
  expect(told(1, "b", "f", '{"n":')).toEqual([]);
  expect(told(2, "c", "f", '{"n":3}')).toEqual([]);
  expect(told(3, "d", "f", "{}")).toEqual([]);
  expect(told(0, "", "", "1}")).toEqual([
    [0, "1}"],
    [1, '{"n":'],
  ]);
  expect(told(1, "", "", "2}")).toEqual([
    [1, "2}"],
    [2, '{"n":3}'],
    [3, "{}"],
  ]);
});

test("one that comes once the one before is complete is told at once", () => {
  const turns = new CallsInTurn();
  turns.take(toolCall(0, "a", "f", "{}"));
  for (const piece of ['{"n":', "1", "}"]) {
    expect(argumentsOf(turns.take(toolCall(1, "", "", piece)))).toBe(piece);
  }
});

test("one that comes once others are over waits for none of them, though they were cut", () => {
  const turns = new CallsInTurn();
  turns.take(toolCall(0, "a", "f", '{"n":'));
  expect(turns.take(toolCall(1, "b", "f", '{"m":'))).toEqual([]);
  expect(turns.end().map(({ index }) => index)).toEqual([1]);
  expect(turns.take(toolCall(2, "c", "f", "{"))).toHaveLength(1);
  // What comes late of those has its place already.
  for (const index of [0, 1]) expect(turns.take(toolCall(index, "", "", "1}"))).toHaveLength(1);
  expect(turns.end()).toEqual([]);
});

test("one whose arguments go on behind an object is over with that, and the rest left out", () => {
  const turns = new CallsInTurn();
  turns.take(toolCall(0, "a", "f", '{"n":1} '));
  expect(turns.hasRest).toBe(false);
  expect(argumentsOf(turns.take(toolCall(0, "", "", "x")))).toBe("");
  expect(turns.hasRest).toBe(true);
  expect(argumentsOf(turns.take(toolCall(1, "b", "f", '{"n":2}}')))).toBe('{"n":2}');
  expect(turns.end()).toEqual([]);
});

test("those that are no object are told under a name, once they are complete", () => {
  const turns = new CallsInTurn();
  expect(turns.take(toolCall(0, "a", "f", " [1,"))).toMatchObject([{ id: "a" }]);
  expect(turns.take(toolCall(1, "b", "f", '"x'))).toEqual([]);
  expect(argumentsOf(turns.take(toolCall(0, "", "", "2]")))).toBe("");
  turns.take(toolCall(1, "", "", '"'));
  expect(turns.end().map((it) => [it.index, it.id, it.function?.arguments])).toEqual([
    [0, "", '{"rawInvalidInput":[1,2]}'],
    [1, "b", ""],
    [1, "", ""],
    [1, "", '{"rawInvalidInput":"x"}'],
  ]);
  expect(argumentsOf(turns.take(toolCall(1, "", "", "y")))).toBe("");
});

test("blanks ahead of an object are left out, and of nothing but blanks it is said that there are none", () => {
  const turns = new CallsInTurn();
  expect(argumentsOf(turns.take(toolCall(0, "a", "f", "\n ")))).toBe("");
  expect(argumentsOf(turns.take(toolCall(0, "", "", ' {"n":1}')))).toBe('{"n":1}');
  turns.take(toolCall(1, "b", "f", " "));
  expect(turns.end()).toEqual([]);
  expect(argumentsOf(turns.take(toolCall(1, "", "", "{}")))).toBe("");
  expect(turns.hasRest).toBe(false);
});

test("arguments that come once their call is over without any are told, what is no object left out", () => {
  const turns = new CallsInTurn();
  turns.take(toolCall(0, "a", "f", ""));
  turns.end();
  turns.take(toolCall(1, "b", "f", ""));
  turns.end();
  expect(argumentsOf(turns.take(toolCall(0, "", "", ' {"n":')))).toBe('{"n":');
  expect(argumentsOf(turns.take(toolCall(0, "", "", "1}")))).toBe("1}");
  expect(turns.hasRest).toBe(false);
  expect(argumentsOf(turns.take(toolCall(1, "", "", "[1]")))).toBe("");
  expect(turns.hasRest).toBe(true);
});
