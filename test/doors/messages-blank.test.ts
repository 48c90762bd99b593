/** Blanks in answers of the Messages API: Anthropic has no block of these alone, and takes none back. */
import { describe, expect, test } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { deltaChoice } from "../../src/core/chat-messages.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { piece, thought } from "../support/scripted.js";
import { adaptive, streamed, whole } from "./messages-asked.js";

const calls: LLMResponse = {
  ...piece(""),
  choices: [deltaChoice("", "", [toolCall(0, "a", "f", "{}")])],
};

/** A model that answers in these pieces. */
const model = (...pieces: LLMResponse[]) =>
  async function* () {
    for (const one of pieces) yield [one];
    yield [piece("", pieces.includes(calls) ? "tool_calls" : "stop", [1, 2])];
  };

const use = { type: "tool_use", id: "a", name: "f", input: {} };
const thinking = { type: "thinking", thinking: "Hm.", signature: "W10=" };
const text = (said: string) => ({ type: "text", text: said });

describe("blanks", () => {
  test.each([
    ["ahead of a call", [piece("\n"), piece("\n"), calls], [use]],
    ["between thoughts and a call", [thought("Hm."), piece("\n\n"), calls], [thinking, use]],
    ["within thoughts", [thought("H"), piece("\n"), thought("m."), calls], [thinking, use]],
    ["ahead of a text", [piece("\n"), piece("\nHi"), calls], [text("\n\nHi"), use]],
    ["behind a text", [piece("Hi"), piece("\n\n"), calls], [text("Hi\n\n"), use]],
    ["alone", [piece("\n"), piece("\n")], [text("\n\n")]],
    ["behind thoughts alone", [thought("Hm."), piece("\n")], [thinking, text("\n")]],
  ])("%s", async (where, pieces, content) => {
    expect((await streamed(model(...pieces), adaptive)).message.content).toMatchObject(content);
    // What is said in a whole answer is one text.
    if (where === "within thoughts") return;
    expect((await whole(model(...pieces), adaptive)).content).toMatchObject(content);
  });
});
