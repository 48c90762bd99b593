/** Answers of `POST /v1/responses`: whole, and in events. */
import { describe, expect, test } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { breaksAfter, callsTools, piece, says } from "../support/scripted.js";
import { responseEvents } from "./response-events.js";
import { json, serveChat } from "./serve.js";

const path = "/v1/responses";
const input = "Hello";

const usage = (input_tokens: number, output_tokens: number) => ({
  input_tokens,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: input_tokens + output_tokens,
});

const said = (text: string, status = "completed") => ({
  id: expect.stringMatching(/^msg_[\w-]{10,}$/),
  type: "message",
  status,
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
});

const called = (call_id: string, name: string, args: string, status = "completed") => ({
  id: expect.stringMatching(/^fc_[\w-]{10,}$/),
  ...{ type: "function_call", status, call_id, name, arguments: args },
});

const tools = [{ type: "function", name: "f", parameters: { type: "object" }, strict: true }];

/** Says something, then calls two tools, the second before the first is complete. */
const talksAndCalls: Handle<"chat"> = async function* (call) {
  yield [piece("I "), piece("look")];
  yield* callsTools(
    [toolCall(0, "c0", "f", '{"a"')],
    [toolCall(1, "c1", "g", "")],
    [toolCall(0, "", "", ":1}"), toolCall(1, "", "", "{}")],
  )(call);
};

/** Ends for that reason. */
const endsBy = (reason: string): Handle<"chat"> =>
  async function* () {
    yield [piece("Hi")];
    yield [piece("", reason, [1, 2])];
  };

/** The answer whole, and the last one of a stream, which says the same. */
async function answersOf(chat: Handle<"chat">, body: object = {}) {
  const { post } = await serveChat(chat);
  const whole = await json(await post(path, { input, ...body }));
  const events = await responseEvents(await post(path, { input, ...body, stream: true }));
  const last = events.at(-1);
  expect(last.type).toBe(`response.${whole.status}`);
  const withoutIds = (response: { output: object[] }) => ({
    ...{ ...response, id: "", created_at: 0 },
    output: response.output.map((item) => ({ ...item, id: "" })),
  });
  expect(withoutIds(last.response)).toEqual(withoutIds(whole));
  return { whole, events };
}

describe("a whole answer", () => {
  test("has all that OpenAI's has, of what was asked", async () => {
    const { whole } = await answersOf(says("Hi", " there"));
    expect(whole).toEqual({
      id: expect.stringMatching(/^resp_[\w-]{10,}$/),
      object: "response",
      created_at: expect.any(Number),
      status: "completed",
      background: false,
      error: null,
      incomplete_details: null,
      model: "chat-1",
      output: [said("Hi there")],
      instructions: null,
      max_output_tokens: null,
      metadata: {},
      parallel_tool_calls: true,
      previous_response_id: null,
      reasoning: { effort: null, summary: null },
      store: false,
      temperature: null,
      text: { format: { type: "text" } },
      tool_choice: "auto",
      tools: [],
      top_p: null,
      truncation: "disabled",
      usage: usage(7, 2),
    });
    expect(Number.isInteger(whole.created_at)).toBe(true);
  });

  test("repeats what was asked for", async () => {
    const asked = {
      ...{ instructions: "Be kind\u2028", max_output_tokens: 5, temperature: 1, top_p: 0.5 },
      ...{ metadata: { a: "b" }, parallel_tool_calls: false, tools, tool_choice: "required" },
      text: { format: { type: "json_object" } },
    };
    const { whole } = await answersOf(says("{}"), { ...asked, store: true });
    expect(whole).toMatchObject({ ...asked, store: false });
    const { whole: other } = await answersOf(says("Hi"), { max_tokens: 6 });
    expect(other.max_output_tokens).toBe(6);
  });

  test("of tools: what was said, then the calls", async () => {
    const { whole } = await answersOf(talksAndCalls, { tools });
    expect(whole.status).toBe("completed");
    expect(whole.output).toEqual([
      said("I look"),
      called("c0", "f", '{"a":1}'),
      called("c1", "g", "{}"),
    ]);
    const ids = whole.output.map(({ id }: { id: string }) => id);
    expect(new Set(ids).size).toBe(3);
  });

  test("of calls alone has no message; of nothing at all an empty one", async () => {
    const calls = await answersOf(callsTools([toolCall(0, "c0", "f", "{}")]), { tools });
    expect(calls.whole.output).toEqual([called("c0", "f", "{}")]);
    expect((await answersOf(says())).whole.output).toEqual([said("")]);
  });

  test("calls tools whose names come behind their first piece", async () => {
    const { whole } = await answersOf(
      callsTools([toolCall(0, "c0", "", "")], [toolCall(0, "", "f", "{}")]),
      { tools },
    );
    expect(whole.output).toEqual([called("c0", "f", "{}")]);
  });

  test("calls tools in namespaces by their own names", async () => {
    const inner = [{ type: "function", name: "weather" }];
    const asked = { tools: [{ type: "namespace", name: "mcp__sky", tools: inner }] };
    const call = toolCall(0, "c0", "mcp__sky__weather", "{}");
    const { whole, events } = await answersOf(callsTools([call]), asked);
    expect(whole.output).toEqual([{ ...called("c0", "weather", "{}"), namespace: "mcp__sky" }]);
    expect(whole.tools).toEqual(asked.tools);
    for (const { item } of events.filter((event) => event.item)) {
      expect(item).toMatchObject({ name: "weather", namespace: "mcp__sky" });
    }
    expect(events.find(({ type }) => type.endsWith("arguments.done"))?.name).toBe("weather");
  });

  test("has with a call what its server wants to see again", async () => {
    const extra = { google: { thought_signature: "abc" } };
    const call = toolCall(0, "c0", "f", "{", JSON.stringify(extra));
    const { whole } = await answersOf(callsTools([call], [toolCall(0, "", "", "}")]), { tools });
    expect(whole.output).toEqual([{ ...called("c0", "f", "{}"), extra_content: extra }]);
  });

  test.each([
    ["length", "max_output_tokens"],
    ["content_filter", "content_filter"],
  ])("that ends by %s is incomplete", async (finishReason, reason) => {
    const { whole } = await answersOf(endsBy(finishReason));
    expect(whole).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason },
      output: [said("Hi", "incomplete")],
    });
  });

  test("of which the last item is incomplete", async () => {
    const cut: Handle<"chat"> = async function* () {
      yield [piece("a")];
      const toolCalls = [toolCall(0, "c0", "f", "{}"), toolCall(1, "c1", "f", "{")];
      const last = piece("", "length", [1, 2]);
      Object.assign(last.choices[0]?.delta ?? {}, { toolCalls });
      yield [last];
    };
    expect((await answersOf(cut)).whole.output).toEqual([
      said("a"),
      called("c0", "f", "{}"),
      called("c1", "f", "{", "incomplete"),
    ]);
  });

  test("tells warnings, and that tokens were estimated", async () => {
    const uncounted: Handle<"chat"> = async function* () {
      yield [{ ...piece("Hi", "stop"), warnings: ["said at the end"] }];
    };
    const { whole } = await answersOf(uncounted, { truncation: "auto" });
    expect(whole.usage_estimated).toBe(true);
    expect(whole.warnings).toEqual([expect.stringMatching(/^truncation: /), "said at the end"]);
  });
});

describe("a stream", () => {
  test("of text", async () => {
    const { events } = await answersOf(says("Hi", ' "thére"\u2028'));
    const { id } = events[0].response;
    const part = { output_index: 0, content_index: 0, item_id: expect.stringMatching(/^msg_/) };
    const text = 'Hi "thére"\u2028';
    const created = { id, object: "response", status: "in_progress", output: [], usage: null };
    expect(events).toMatchObject([
      { type: "response.created", response: created },
      { type: "response.in_progress", response: created },
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { ...said("", "in_progress"), content: [] },
      },
      { type: "response.content_part.added", ...part, part: said("").content[0] },
      { type: "response.output_text.delta", ...part, delta: "Hi", logprobs: [] },
      { type: "response.output_text.delta", ...part, delta: ' "thére"\u2028', logprobs: [] },
      { type: "response.output_text.done", ...part, text, logprobs: [] },
      { type: "response.content_part.done", ...part, part: said(text).content[0] },
      { type: "response.output_item.done", output_index: 0, item: said(text) },
      { type: "response.completed", response: { id, status: "completed", output: [said(text)] } },
    ]);
    const items = new Set(events.flatMap(({ item_id, item }) => item_id ?? item?.id ?? []));
    expect(items.size).toBe(1);
  });

  test("of tools: what is said ends before they are called", async () => {
    const { events } = await answersOf(talksAndCalls, { tools });
    const shown = events
      .slice(4)
      .map(({ type, output_index, delta, arguments: args }) => [
        type.replace("response.", ""),
        ...[output_index, delta, args].filter((it) => it !== undefined),
      ]);
    expect(shown).toEqual([
      ["output_text.delta", 0, "I "],
      ["output_text.delta", 0, "look"],
      ["output_text.done", 0],
      ["content_part.done", 0],
      ["output_item.done", 0],
      ["output_item.added", 1],
      ["function_call_arguments.delta", 1, '{"a"'],
      ["output_item.added", 2],
      ["function_call_arguments.delta", 1, ":1}"],
      ["function_call_arguments.delta", 2, "{}"],
      ["function_call_arguments.done", 1, '{"a":1}'],
      ["output_item.done", 1],
      ["function_call_arguments.done", 2, "{}"],
      ["output_item.done", 2],
      ["completed"],
    ]);
    expect(events.find(({ output_index }) => output_index === 1)?.item).toEqual(
      called("c0", "f", "", "in_progress"),
    );
    expect(events.at(-2)?.item).toEqual(called("c1", "g", "{}"));
  });

  test("of text behind calls is one more message", async () => {
    const afterwards: Handle<"chat"> = async function* () {
      const call = piece("");
      Object.assign(call.choices[0]?.delta ?? {}, { toolCalls: [toolCall(0, "c0", "f", "{}")] });
      yield [piece("a"), call, piece("b"), piece("", "tool_calls", [1, 2])];
    };
    const { post } = await serveChat(afterwards);
    const events = await responseEvents(await post(path, { input, tools, stream: true }));
    const { output } = events.at(-1).response;
    expect(output).toEqual([said("a"), called("c0", "f", "{}"), said("b")]);
    expect(output[0].id).not.toBe(output[2].id);
  });

  test("whose failure comes late tells it twice: to those who look for an error, and for the end", async () => {
    const failure = new LintelError("upstream_failed", "it broke");
    const { post } = await serveChat(breaksAfter(failure, "Hi"));
    const events = await responseEvents(await post(path, { input, stream: true }));
    const error = { code: "upstream_failed", message: "it broke" };
    expect(events.slice(-2)).toEqual([
      {
        ...{ type: "error", sequence_number: 5, ...error, param: null },
        error: { ...error, type: "upstream_error", param: null },
      },
      {
        ...{ type: "response.failed", sequence_number: 6 },
        response: expect.objectContaining({
          ...{ status: "failed", error, usage: null },
          output: [said("Hi", "incomplete")],
        }),
      },
    ]);
  });

  test("whose failure comes early has its status", async () => {
    const { post } = await serveChat(breaksAfter(new LintelError("upstream_failed", "it broke")));
    const response = await post(path, { input, stream: true });
    expect(response.status).toBe(502);
    expect((await json(response)).error).toMatchObject({ code: "upstream_failed" });
  });

  test("whose head went out before anything came begins as others do", async () => {
    let fail = () => {};
    const failing = new Promise<void>((resolve) => {
      fail = resolve;
    });
    // biome-ignore lint/correctness/useYield: it fails before it has something
    const late: Handle<"chat"> = async function* () {
      await failing;
      throw new LintelError("upstream_failed", "it broke");
    };
    const { post } = await serveChat(late, { doors: { holdMs: 1 } });
    const response = await post(path, { input, model: "chat-1", stream: true });
    fail();
    expect(response.status).toBe(200);
    const events = await responseEvents(response);
    expect(events.map(({ type }) => type)).toEqual([
      ...["response.created", "response.in_progress", "error", "response.failed"],
    ]);
    expect(events[0].response).toMatchObject({ model: "chat-1", created_at: expect.any(Number) });
  });

  test("is one line for each event, by every reading", async () => {
    const { post } = await serveChat(says("a\u2028b", "c\u0085d"));
    const body = { input, instructions: "e\u2029f", stream: true };
    const text = await (await post(path, body)).text();
    expect(text).not.toMatch(/[\u2028\u2029\u0085]/);
    expect(text.endsWith("}\n\n")).toBe(true);
  });
});
