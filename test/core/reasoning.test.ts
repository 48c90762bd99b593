/** What models think, on its way through the core. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it, test, vi } from "vitest";
import { LLMRequestSchema, type LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { estimatePrompt } from "../../src/core/estimate.js";
import { Thoughts } from "../../src/core/reasoning.js";
import { coreOf, run } from "../support/core.js";
import { hello } from "../support/routing.js";
import { callsTools, piece, scripted, thinks, thought } from "../support/scripted.js";
import { models } from "./chatting.js";

type Chat = Parameters<typeof scripted>[0]["chat"];

/** What each message of a stream says. */
async function streamed(chat: Chat) {
  const all = await run(coreOf([scripted({ chat }, models)]), "chat", hello);
  return all.map(({ choices: [choice] }) => {
    const { content, toolCalls, reasoningContent, reasoningDetails } = choice?.delta ?? {};
    const calls = toolCalls?.map(({ id }) => id) ?? [];
    return [reasoningContent, reasoningDetails, content, ...calls];
  });
}

async function whole(chat: Chat): Promise<LLMResponse> {
  const [answer] = await run(coreOf([scripted({ chat }, models)]), "complete", hello);
  return answer as LLMResponse;
}

const detail = (more: object) => JSON.stringify([{ type: "reasoning.text", ...more }]);

describe("thoughts", () => {
  it("come in pieces ahead of the answer, and of calls", async () => {
    const chat = async function* (call: Parameters<NonNullable<Chat>>[0]) {
      yield [thought("Hm, "), thought("yes.")];
      yield [piece("Look:")];
      yield* callsTools([{ ...call1, index: 0 }])(call);
    };
    expect(await streamed(chat)).toEqual([
      ["Hm, ", undefined, ""],
      ["yes.", undefined, ""],
      [undefined, undefined, "Look:"],
      [undefined, undefined, "", "a"],
      [undefined, undefined, ""],
    ]);
  });

  it("have no members where there are none, so that other messages stay as small as they were", async () => {
    const [message] = await run(
      coreOf([scripted({ chat: thinks([], "a") }, models)]),
      "chat",
      hello,
    );
    expect(Object.keys(message?.choices[0]?.delta ?? {})).toEqual([
      ...["$typeName", "role", "content", "toolCalls", "toolCallId", "parts", "images"],
    ]);
  });

  it("that a server cuts inside of a character are put together; a half that is left is U+FFFD", async () => {
    const cut = ["a\ud83d", "\ude00", "\ud83d"].map((text) => thought(text));
    const end = [undefined, undefined, ""];
    expect(await streamed(thinks(cut, "b"))).toEqual([
      ["a", undefined, ""],
      ["\u{1f600}", undefined, ""],
      ["\ufffd", undefined, ""],
      [undefined, undefined, "b"],
      end,
    ]);
    expect(await streamed(thinks([thought("\ud83d")]))).toEqual([["\ufffd", undefined, ""], end]);
  });

  it("are one in a whole answer, with what the server wants to see again", async () => {
    const pieces = [
      thought("Hm, ", detail({ index: 0, text: "Hm, ", format: "f" })),
      thought("yes.", detail({ index: 0, text: "yes." })),
      thought("", detail({ index: 0, signature: "s", text: null })),
      thought("", detail({ index: 1, text: "More." })),
    ];
    const { message } = (await whole(thinks(pieces, "42"))).choices[0] ?? {};
    expect(message).toMatchObject({ content: "42", reasoningContent: "Hm, yes." });
    expect(JSON.parse(message?.reasoningDetails ?? "")).toEqual([
      { type: "reasoning.text", index: 0, text: "Hm, yes.", format: "f", signature: "s" },
      { type: "reasoning.text", index: 1, text: "More." },
    ]);
  });

  it.each([
    ["nested too deeply to be written out", `[{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}]`],
    ["no list of objects", '{"type":"reasoning.text"}'],
    ["no JSON", "[{"],
  ])("without what is to be seen again, where that is %s", async (_, details) => {
    const chat = thinks([thought("Hm.", details)], "42");
    expect(await streamed(chat)).toEqual([
      ["Hm.", undefined, ""],
      [undefined, undefined, "42"],
      [undefined, undefined, ""],
    ]);
    const { message } = (await whole(chat)).choices[0] ?? {};
    expect([message?.reasoningContent, message?.reasoningDetails]).toEqual(["Hm.", undefined]);
  });

  it("count as tokens where the server counts none", async () => {
    const chat = async function* () {
      yield [thought("12345678"), piece("1234"), piece("", "stop")];
    };
    const { usage, usageEstimated } = await whole(chat);
    expect(usage).toMatchObject({ completionTokens: 3 });
    expect(usageEstimated).toBe(true);
    const all = await run(coreOf([scripted({ chat }, models)]), "chat", hello);
    expect(all.at(-1)?.usage).toMatchObject({ completionTokens: 3 });
  });

  it("and what was in a cache, or written to one, are told among the counts, and are absent where nobody tells", async () => {
    const told = { cachedTokens: 4, cacheWriteTokens: 2, reasoningTokens: 1 };
    expect((await whole(thinks([thought("a")], "b"))).usage).toMatchObject(told);
    const chat = thinks([thought("a")], "b");
    const all = await run(coreOf([scripted({ chat }, models)]), "chat", hello);
    expect(all.at(-1)?.usage).toMatchObject(told);
    const silent = async function* () {
      yield [piece("a", "stop", [1, 1])];
    };
    const untold = Object.keys((await whole(silent)).usage ?? {});
    for (const name of Object.keys(told)) expect(untold).not.toContain(name);
  });
});

const call1 = {
  $typeName: "lintel.v1.ToolCall",
  ...{ index: 0, id: "a", type: "function", extraContent: "" },
  function: { $typeName: "lintel.v1.FunctionCall", name: "f", arguments: "{}" },
} as const;

test("what is to be seen again of a call is left out where it can't be written out", async () => {
  const extraContent = `{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
  const chat = callsTools(
    [{ ...call1, extraContent }],
    [{ ...call1, index: 1, extraContent: "{}" }],
  );
  const calls = (await whole(chat)).choices[0]?.message?.toolCalls;
  expect(calls?.map((call) => call.extraContent)).toEqual(["", "{}"]);
});

test("thoughts in messages count in the estimate of a prompt", () => {
  const prompt = (more: object) =>
    estimatePrompt(create(LLMRequestSchema, { messages: [{ role: "assistant", ...more }] }));
  expect(prompt({ reasoningContent: "12345678" }) - prompt({})).toBe(2);
});

describe("what is to be seen again", () => {
  const joined = (...details: object[][]) => {
    const thoughts = new Thoughts();
    for (const one of details) thoughts.add({ reasoningDetails: JSON.stringify(one) });
    return JSON.parse(thoughts.all.reasoningDetails ?? "[]");
  };

  it("is joined where pieces are of one thought, and only there", () => {
    expect(
      joined(
        [{ type: "reasoning.summary", summary: "a", index: 0 }],
        [{ type: "reasoning.summary", summary: "b", index: 0, id: "x" }],
        [{ type: "reasoning.encrypted", data: "c", index: 0 }],
        [{ type: "reasoning.encrypted", data: "d" }],
        [{ type: "reasoning.encrypted", data: "e" }],
      ),
    ).toEqual([
      { type: "reasoning.summary", summary: "ab", index: 0, id: "x" },
      { type: "reasoning.encrypted", data: "c", index: 0 },
      { type: "reasoning.encrypted", data: "d" },
      { type: "reasoning.encrypted", data: "e" },
    ]);
  });

  it("is nothing where it is no list of objects", () => {
    const thoughts = new Thoughts();
    for (const reasoningDetails of ["{", "{}", "[1]", ""]) thoughts.add({ reasoningDetails });
    expect(thoughts.all).toEqual({});
  });
});

test("a piece without details is not read as JSON, which takes long to refuse it", () => {
  const thoughts = new Thoughts();
  const parse = vi.spyOn(JSON, "parse");
  thoughts.add({ reasoningContent: "a" });
  thoughts.add({});
  expect(parse).not.toHaveBeenCalled();
  parse.mockRestore();
  expect(thoughts.all).toEqual({ reasoningContent: "a" });
});

test.each([
  ["text", (text: string) => piece(text)],
  ["thoughts", (text: string) => thought(text)],
  ["details of thoughts", (text: string) => thought("", JSON.stringify([{ text }]))],
])("an answer whose %s do not end is ended, and its server is told", async (_, said) => {
  let ended = false;
  let sent = 0;
  async function* chat() {
    try {
      for (; sent < 200; sent++) yield [said("x".repeat(1024 * 1024))];
    } finally {
      ended = true;
    }
  }
  await expect(run(coreOf([scripted({ chat }, models)]), "chat", hello)).rejects.toMatchObject({
    code: "upstream_failed",
    message: "the model server sent an answer that is too large",
  });
  expect(sent).toBeLessThan(70);
  expect(ended).toBe(true);
});
