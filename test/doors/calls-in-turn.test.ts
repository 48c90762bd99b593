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
  turns.take(toolCall(1, "b", "write", ""));
  for (let i = 0; i < 1000; i++) {
    turns.take(toolCall(0, "", "", i % 2 === 0 ? "}" : "\\\\}"));
    expect(turns.take(toolCall(1, "", "", "1"))).toEqual([]);
  }
  expect(turns.take(toolCall(0, "", "", '"'))).toHaveLength(1);
  expect(argumentsOf(turns.take(toolCall(0, "", "", " } ")))).toBe(` } ${"1".repeat(1000)}`);
  expect(parse.mock.calls.length).toBeLessThan(5);
  parse.mockRestore();
});
