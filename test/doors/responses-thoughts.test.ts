/** What models think, in `POST /v1/responses`: asked for, told, and sent back. */
import { describe, expect, test } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { deltaChoice, tokenUsage } from "../../src/core/chat-messages.js";
import { reasoningChoice, reasoningOf } from "../../src/core/reasoning.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { responseEncoder } from "../../src/doors/openai/responses/events.js";
import type { say } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { piece, says, scripted } from "../support/scripted.js";
import { responseEvents } from "./response-events.js";
import { json, serve, serveChat } from "./serve.js";

const path = "/v1/responses";
const input = "Hello";
const user = [{ role: "user", content: input }];

/** A piece of thoughts. */
const thought = (text: string, details: object[] = []): LLMResponse => ({
  ...piece(""),
  choices: [reasoningChoice(reasoningOf(text, details.length > 0 ? JSON.stringify(details) : ""))],
});

/** A piece of a call. */
const calling = (...args: Parameters<typeof toolCall>): LLMResponse => ({
  ...piece(""),
  choices: [deltaChoice("", "", [toolCall(...args)])],
});

/** Streams pieces, one step each. */
const streams = (...pieces: LLMResponse[]): Handle<"chat"> =>
  async function* () {
    for (const one of pieces) yield [one];
  };

const base64 = (value: unknown) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64");

/** What the gateway itself keeps of thoughts in `encrypted_content`. */
const sealed = (details: object[], text: string) =>
  base64(text === "" ? details : [{ type: "lintel.thinking", text }, ...details]);

const unsigned = { type: "reasoning.text", text: "Hm", index: 0 };
const signature = { type: "reasoning.text", signature: "abc", index: 0 };
const signed = { ...unsigned, signature: "abc" };
const encrypted = { type: "reasoning.encrypted", data: "xyz", index: 1 };

const thinks = (text: string, details: object[] = [], status = "completed") => ({
  id: expect.stringMatching(/^rs_[\w-]{10,}$/),
  ...{ type: "reasoning", status },
  summary: text === "" ? [] : [{ type: "summary_text", text }],
  encrypted_content: sealed(details, text),
});

const said = (text: string, status = "completed") =>
  expect.objectContaining({
    ...{ type: "message", status },
    content: [expect.objectContaining({ type: "output_text", text })],
  });

const called = (name: string) => expect.objectContaining({ type: "function_call", name });

const tools = [{ type: "function", name: "f", parameters: { type: "object" } }];

const thinksAndSays = streams(
  thought("H", [unsigned]),
  thought("m"),
  thought("", [signature]),
  piece("Hi"),
  piece(" there"),
  {
    ...piece("", "stop"),
    usage: tokenUsage(7, 5, { cachedTokens: 4, reasoningTokens: 3 }),
  },
);

const thinkingModel = chatModel("chat-1", {
  supports: [...chatModel("chat-1").supports, "reasoning_effort"],
});

/** What a model that thinks is asked for a request that is answered, and what is warned of. */
async function askedFor(body: object) {
  const backend = scripted({ chat: says("Hi") }, [thinkingModel]);
  const { post } = await serve(backend);
  const response = await post(path, { input, ...body });
  const { object, warnings = [] } = await json(response);
  expect(object).toBe("response");
  return { asked: backend.asked[0], warnings };
}

/** A model that can't be told how much to think. */
const plain = () => scripted({ chat: says("Hi") }, [chatModel("chat-1", { supports: [] })]);

const whole = async (chat: Handle<"chat">, body: object = {}) =>
  json(await (await serveChat(chat)).post(path, { input, ...body }));

const streamed = async (chat: Handle<"chat">, body: object = {}) =>
  responseEvents(await (await serveChat(chat)).post(path, { input, ...body, stream: true }));

describe("requests", () => {
  test.each([
    [{ effort: "high" }, "high"],
    [{ effort: "none" }, "none"],
    [{ effort: "low", summary: "auto" }, "low"],
    [{ summary: "detailed", generate_summary: "concise" }, ""],
    [{ effort: null, summary: null }, ""],
    [{ enabled: true }, "medium"],
    [{ enabled: false, effort: null }, "none"],
    [{}, ""],
    [null, ""],
  ])("reasoning %j asks for the effort %j", async (reasoning, reasoningEffort) => {
    const { asked, warnings } = await askedFor({ reasoning });
    expect(asked).toMatchObject({ reasoningEffort });
    expect(warnings).toEqual([]);
  });

  test("the contract's own field is taken, too, and the object goes before it", async () => {
    const { asked } = await askedFor({ reasoning_effort: "low", reasoning: { summary: "auto" } });
    expect(asked).toMatchObject({ reasoningEffort: "low" });
    const both = await askedFor({ reasoning_effort: "low", reasoning: { effort: "high" } });
    expect(both.asked).toMatchObject({ reasoningEffort: "high" });
  });

  test("a model without efforts is asked all the same, and that is said", async () => {
    const server = await serve(plain());
    const answer = await json(await server.post(path, { input, reasoning: { effort: "high" } }));
    expect(answer).toMatchObject({ status: "completed", reasoning: { effort: "high" } });
    expect(answer.warnings).toEqual([expect.stringMatching(/^reasoning\.effort: /)]);
  });

  const faulty = (more: object) => ({ input: [{ type: "reasoning", ...more }, ...user] });

  test.each([
    ["reasoning", { reasoning: "high" }],
    ["reasoning.effort", { reasoning: { effort: "extreme" } }],
    ["reasoning.effort", { reasoning: { effort: 5 } }],
    ["reasoning_effort", { reasoning_effort: "extreme" }],
    ["reasoning.summary", { reasoning: { summary: "long" } }],
    ["reasoning.generate_summary", { reasoning: { generate_summary: true } }],
    ["reasoning.exclude", { reasoning: { exclude: "yes" } }],
    ["reasoning.enabled", { reasoning: { enabled: 1 } }],
    ["input[0].summary", faulty({ summary: "Hm" })],
    ["input[0].summary[1].text", faulty({ summary: [{ text: "" }, {}] })],
    ["input[0].content", faulty({ content: {} })],
    ["input[0].content[0].text", faulty({ content: ["Hm"] })],
    ["input[0].encrypted_content", faulty({ encrypted_content: 5 })],
  ])("422 by the client's name of the field: %s %j", async (param, body) => {
    const { post } = await serveChat(says("Hi"));
    const response = await post(path, { input, ...body });
    expect(response.status).toBe(422);
    const { error } = await json(response);
    expect(error.param).toBe(param);
    expect(error.message).toContain(`${param}: `);
  });

  test("a refused effort has the client's name", async () => {
    const { post } = await serve(plain(), {
      core: { models: [{ name: "chat-1", unsupported: "reject" }] },
    });
    const response = await post(path, { input, reasoning: { effort: "high" } });
    expect(response.status).toBe(400);
    expect((await json(response)).error.param).toBe("reasoning.effort");
  });
});

describe("thoughts that come back", () => {
  const item = (more: object) => ({ type: "reasoning", id: "rs_1", ...more });
  const summary = (...texts: string[]) => texts.map((text) => ({ type: "summary_text", text }));
  const call = (id: string) => ({
    ...{ type: "function_call", call_id: id, name: "f", arguments: "{}" },
  });
  const output = (id: string) => ({ type: "function_call_output", call_id: id, output: "42" });
  const answer = { role: "assistant", content: "Hi" };

  /** The messages that reach a model: their roles, what was thought of each, and how often it calls. */
  async function messagesFor(...items: object[]) {
    const { asked } = await askedFor({ input: items });
    const { messages } = asked as { messages: ReturnType<typeof say>[] };
    return messages.map(({ role, reasoningContent, reasoningDetails, toolCalls }) => [
      role,
      reasoningContent,
      reasoningDetails && JSON.parse(reasoningDetails),
      toolCalls.length,
    ]);
  }

  test("are of the assistant's message that follows", async () => {
    const encrypted_content = base64([signed, encrypted]);
    expect(
      await messagesFor(
        ...user,
        item({ summary: summary("Hm"), encrypted_content }),
        answer,
        ...user,
        item({ summary: summary("In short"), content: [{ type: "reasoning_text", text: "Raw" }] }),
        call("1"),
        output("1"),
        item({ summary: summary("a", "b"), content: null, encrypted_content: null }),
        call("2"),
        call("3"),
        output("2"),
        output("3"),
      ),
    ).toEqual([
      ["user", undefined, undefined, 0],
      ["assistant", "Hm", [signed, encrypted], 0],
      ["user", undefined, undefined, 0],
      ["assistant", "Raw", undefined, 1],
      ["tool", undefined, undefined, 0],
      ["assistant", "a\n\nb", undefined, 2],
      ["tool", undefined, undefined, 0],
      ["tool", undefined, undefined, 0],
    ]);
  });

  test.each([
    ["nothing else", {}, "Häm"],
    ["an empty summary", { summary: [] }, "Häm"],
    ["its summary", { summary: summary("In short") }, "In short"],
    ["its text", { content: [{ type: "reasoning_text", text: "Raw" }] }, "Raw"],
  ])("are in what was encrypted, where a client sends that and %s", async (_, more, told) => {
    for (const details of [[], [signed]]) {
      const kept = item({ encrypted_content: sealed(details, "Häm"), ...more });
      expect(await messagesFor(...user, kept, answer)).toEqual([
        ["user", undefined, undefined, 0],
        ["assistant", told, details.length > 0 ? details : undefined, 0],
      ]);
    }
  });

  test("come back from an answer of which a client keeps what was encrypted alone", async () => {
    const { output } = await whole(thinksAndSays, {});
    const [{ encrypted_content }] = output as [{ encrypted_content: string }];
    expect(await messagesFor(...user, item({ encrypted_content, summary: [] }), answer)).toEqual([
      ["user", undefined, undefined, 0],
      ["assistant", "Hm", [signed], 0],
    ]);
  });

  test.each([
    base64({ type: "lintel.thinking", text: "Hm" }),
    base64(["Hm"]),
    base64([{ type: "lintel.thinking", text: "Hm" }, "Hm"]),
    "a.b.c",
  ])("that somebody else has encrypted are passed over: %s", async (other) => {
    const kept = item({ summary: [], encrypted_content: other });
    expect(await messagesFor(...user, kept, answer)).toEqual([
      ["user", undefined, undefined, 0],
      ["assistant", undefined, undefined, 0],
    ]);
  });

  test("of one message are joined: those between calls, and those that came late", async () => {
    expect(
      await messagesFor(
        ...user,
        item({ summary: summary("Hm"), encrypted_content: base64([unsigned]) }),
        answer,
        item({ summary: summary("So"), encrypted_content: base64([]) }),
        call("1"),
        item({ summary: [], encrypted_content: base64([signature, encrypted]) }),
        output("1"),
        answer,
        item({ summary: [], encrypted_content: base64([encrypted]) }),
      ),
    ).toEqual([
      ["user", undefined, undefined, 0],
      ["assistant", "Hm\n\nSo", [signed, encrypted], 1],
      ["tool", undefined, undefined, 0],
      ["assistant", undefined, [encrypted], 0],
    ]);
  });

  test("in the middle of what was said leave that one text, as it came", async () => {
    const said = (content: string) => ({ role: "assistant", content });
    const thought = item({ summary: summary("Hm"), encrypted_content: base64([signed]) });
    const { asked } = await askedFor({
      input: [...user, said("Hel"), thought, said("lo"), call("1"), output("1")],
    });
    const { messages } = asked as { messages: ReturnType<typeof say>[] };
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ["user", "Hello"],
      ["assistant", "Hello"],
      ["tool", "42"],
    ]);
    const { reasoningContent, toolCalls } = messages[1] as ReturnType<typeof say>;
    expect([reasoningContent, toolCalls.length]).toEqual(["Hm", 1]);
  });

  test("to which nothing was said are dropped", async () => {
    const orphan = item({ summary: summary("Hm"), encrypted_content: base64([signed]) });
    const user1 = ["user", undefined, undefined, 0];
    expect(await messagesFor(...user, orphan, ...user, orphan)).toEqual([user1, user1]);
  });

  test.each([
    "…",
    "gAAAAABpF-somebody-elses",
    base64({ type: "reasoning.text" }),
    base64(["text"]),
    base64([signed, "text"]),
    base64([]),
    base64("[{"),
    base64(`[{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}]`),
  ])("that somebody else has encrypted are passed over", async (encrypted_content) => {
    const kept = item({ summary: summary("Hm"), encrypted_content });
    expect(await messagesFor(...user, kept, answer)).toEqual([
      ["user", undefined, undefined, 0],
      ["assistant", "Hm", undefined, 0],
    ]);
  });
});

describe("answers", () => {
  test("have thoughts ahead of the message, and count them", async () => {
    const answer = await whole(thinksAndSays, {
      reasoning: { effort: "high", generate_summary: "auto" },
    });
    expect(answer.output).toEqual([thinks("Hm", [signed]), said("Hi there")]);
    expect(answer.reasoning).toEqual({ effort: "high", summary: "auto" });
    expect(answer.usage).toEqual({
      ...{ input_tokens: 7, output_tokens: 5, total_tokens: 12 },
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 3 },
    });
  });

  test("have what a server wants to see again, also where nothing may be read", async () => {
    const hidden = await whole(streams(thought("", [encrypted]), piece("Hi"), piece("", "stop")));
    expect(hidden.output).toEqual([thinks("", [encrypted]), said("Hi")]);
    const plain = await whole(streams(thought("Hm"), piece("Hi"), piece("", "stop")));
    expect(plain.output).toEqual([thinks("Hm", []), said("Hi")]);
  });

  test("have none where the caller wants none", async () => {
    for (const more of [{ include_reasoning: false }, { reasoning: { exclude: true } }]) {
      expect((await whole(thinksAndSays, more)).output).toEqual([said("Hi there")]);
    }
  });

  test("that end in thoughts have no message, and the thoughts are incomplete", async () => {
    const cut = streams(thought("Hm"), piece("", "length", [1, 2]));
    const output = [thinks("Hm", [], "incomplete")];
    expect(await whole(cut)).toMatchObject({ status: "incomplete", output });
    const events = await streamed(cut);
    expect(events.at(-1).response).toMatchObject({ status: "incomplete", output });
  });

  test("of calls: the thoughts, what was said, then the calls", async () => {
    const chat = streams(
      ...[thought("Hm"), piece("I look"), calling(0, "c0", "f", "{}")],
      piece("", "tool_calls", [1, 2]),
    );
    const output = [thinks("Hm"), said("I look"), called("f")];
    expect((await whole(chat, { tools })).output).toEqual(output);
    expect((await streamed(chat, { tools })).at(-1).response.output).toEqual(output);
  });
});

describe("a stream", () => {
  test("has the events of a summary", async () => {
    const events = await streamed(thinksAndSays);
    const item_id = events[2].item.id;
    const part = { item_id, output_index: 0, summary_index: 0 };
    const named = (name: string) => ({ type: `response.reasoning_summary_${name}` });
    const numbered = (...list: object[]) =>
      list.map((event, i) => ({ ...event, sequence_number: i + 2 }));
    expect(events.slice(2, 9)).toEqual(
      numbered(
        {
          ...{ type: "response.output_item.added", output_index: 0 },
          item: { ...thinks("", [], "in_progress"), encrypted_content: null },
        },
        { ...named("part.added"), ...part, part: { type: "summary_text", text: "" } },
        { ...named("text.delta"), ...part, delta: "H" },
        { ...named("text.delta"), ...part, delta: "m" },
        { ...named("text.done"), ...part, text: "Hm" },
        { ...named("part.done"), ...part, part: { type: "summary_text", text: "Hm" } },
        {
          ...{ type: "response.output_item.done", output_index: 0 },
          item: { ...thinks("Hm", [signed]), id: item_id },
        },
      ),
    );
    const { output } = events.at(-1).response;
    expect(output).toEqual([thinks("Hm", [signed]), said("Hi there")]);
    expect(events[9]).toMatchObject({ type: "response.output_item.added", output_index: 1 });
    expect(output[0].id).toBe(item_id);
  });

  test("has thoughts that may not be read without a part", async () => {
    const events = await streamed(
      streams(thought("", [encrypted]), piece("Hi"), piece("", "stop", [1, 2])),
    );
    expect(events.slice(2, 5)).toMatchObject([
      { type: "response.output_item.added", item: { type: "reasoning" } },
      { type: "response.output_item.done", item: thinks("", [encrypted]) },
      { type: "response.output_item.added", item: { type: "message" } },
    ]);
  });

  test("in which it thinks again has one more item, and what was said before has ended", async () => {
    const chat = streams(
      ...[thought("a"), piece("b"), thought("c"), calling(0, "c0", "f", "{"), thought("d")],
      ...[calling(0, "", "", "}"), piece("e"), piece("", "tool_calls", [1, 2])],
    );
    const events = await streamed(chat, { tools });
    const { output } = events.at(-1).response;
    const items = [thinks("a"), said("b"), thinks("c"), called("f"), thinks("d"), said("e")];
    expect(output).toEqual(items);
    expect(new Set(output.map(({ id }: { id: string }) => id)).size).toBe(items.length);
    const told = events
      .filter(({ type }) => /output_item/.test(type))
      .map(
        ({ type, output_index }) => `${type.replace("response.output_item.", "")} ${output_index}`,
      );
    expect(told).toEqual([
      ...["added 0", "done 0", "added 1", "done 1", "added 2", "done 2", "added 3"],
      ...["added 4", "done 4", "added 5", "done 3", "done 5"],
    ]);
  });

  test("ends nothing for what a server tells late of its thoughts", async () => {
    const chat = streams(
      ...[thought("Hm", [unsigned]), piece("a"), thought("", [signature]), piece("b")],
      ...[thought("", [encrypted]), piece("", "length", [1, 2])],
    );
    const output = [
      ...[thinks("Hm", [unsigned]), said("ab", "incomplete")],
      thinks("", [signature, encrypted]),
    ];
    expect((await streamed(chat)).at(-1).response.output).toEqual(output);
  });

  test("keeps JSON in one item, whatever it thinks meanwhile: that is what is incomplete", async () => {
    const chat = streams(
      ...[piece('{"a":'), thought("Hm", [unsigned]), piece("[1,")],
      piece("", "length", [1, 2]),
    );
    const text = { format: { type: "json_object" } };
    expect((await streamed(chat, { text })).at(-1).response.output).toEqual([
      said('{"a":[1,', "incomplete"),
      thinks("Hm", [unsigned]),
    ]);
  });

  test("that breaks off while it thinks tells what came of it", async () => {
    const chat: Handle<"chat"> = async function* () {
      yield [thought("Hm", [unsigned])];
      throw new Error("it broke");
    };
    const last = (await streamed(chat)).at(-1);
    expect(last.type).toBe("response.failed");
    expect(last.response.output).toEqual([thinks("Hm", [unsigned], "incomplete")]);
  });

  test("counts the bytes of thoughts, of long numbers and letters outside of ASCII, too", async () => {
    const texts = [...Array(200).fill("plain"), "Grüße", '"\\\n\u2028', "plain"];
    const encoder = responseEncoder({ model: undefined }, "", {
      ...{ members: '"store":false', inJson: false, namespaces: new Map(), loads: new Map() },
    });
    let all = "";
    const add = (events: string, bytes?: number) => {
      if (bytes !== undefined) expect(bytes).toBe(Buffer.byteLength(events));
      all += events;
    };
    const stamp = { id: "chatcmpl-a", created: 5, model: "Modell für alle" };
    const messages = [...texts.map((text) => thought(text)), piece("", "stop")];
    encoder.messages(
      messages.map((message) => ({ ...message, ...stamp })),
      { add },
    );
    const events = await responseEvents(new Response(all + encoder.end()));
    const deltas = events.filter(({ delta }) => delta !== undefined).map(({ delta }) => delta);
    expect(deltas).toEqual(texts);
    expect(events.at(-1).response.output[0].summary[0].text).toBe(texts.join(""));
  });
});
