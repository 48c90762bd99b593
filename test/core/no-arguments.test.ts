/** Calls of tools without arguments, of which some servers write nothing, and some a null. */
import { describe, expect, it } from "vitest";
import { callFields } from "../../src/backends/completions/fields.js";
import { argumentsOf, joinCalls, ToolCalls, toolCall } from "../../src/core/tool-calls.js";
import { say } from "../support/messages.js";

/** What callers get of the arguments' pieces, and that none of these is what they may have to take back. */
function streamed(pieces: readonly string[], cut = false): string {
  const calls = new ToolCalls();
  const told = pieces.flatMap(
    (args, i) => calls.take(toolCall(0, "a", i === 0 ? "f" : "", args)) ?? [],
  );
  const [call] = joinCalls([...told, ...calls.end(cut)]);
  return call?.function?.arguments ?? "";
}

const none: readonly (readonly string[])[] = [
  [""],
  [" ", "\n"],
  ["null"],
  ["nu", "ll"],
  [" n", "ull ", "\n"],
];

describe("calls without arguments", () => {
  it.each(none)("have an empty object: %j", (...pieces) => {
    const args = pieces.join("");
    expect(streamed(pieces)).toBe("{}");
    expect(new ToolCalls().takeWhole(toolCall(0, "a", "f", args), false).function?.arguments).toBe(
      "{}",
    );
    expect(argumentsOf(toolCall(0, "a", "f", args))).toEqual({});
    const message = say("assistant", "", { toolCalls: [toolCall(0, "a", "f", args)] });
    expect(callFields(message)).toMatchObject({ tool_calls: [{ function: { arguments: "{}" } }] });
  });

  it("have what was written of them where the answer was cut", () => {
    expect(streamed([" nu"], true)).toBe(" nu");
    expect(new ToolCalls().takeWhole(toolCall(0, "a", "f", "nu"), true).function?.arguments).toBe(
      "nu",
    );
  });
});

it.each([
  [["nu", "mber"], "number"],
  [["null", "able"], "nullable"],
  [["nul"], "nul"],
  [['{"a":', "null}"], '{"a":null}'],
  [["[", "null", "]"], "[null]"],
])("other arguments are as they were written: %j", (pieces, written) => {
  expect(streamed(pieces)).toBe(written);
});
