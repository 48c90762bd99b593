/** Calls of custom tools as either of OpenAI's APIs tells them: by their texts. */
import { describe, expect, test } from "vitest";
import type { ToolCall } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { deltaChoice } from "../../src/core/chat-messages.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { breaksAfter, callsTools, piece } from "../support/scripted.js";
import { args, ask, offerOf, patch } from "./custom-tool.js";
import { responseEvents } from "./response-events.js";
import { chunks, json, serveChat } from "./serve.js";

const chat = "/v1/chat/completions";
const responses = "/v1/responses";

/** Calls the tool and the function at once: the pieces of both come in turns, and cut everything. */
const callsBoth = callsTools(
  [toolCall(0, "c0", "patch", ""), toolCall(1, "c1", "weather", '{"a"')],
  [toolCall(0, "", "", args.slice(0, 4))],
  [toolCall(0, "", "", args.slice(4, 20)), toolCall(1, "", "", ":1}")],
  [toolCall(0, "", "", args.slice(20))],
);

const callOf = (name: string, said: string, more: object = {}): Handle<"chat"> =>
  callsTools([{ ...toolCall(0, "c0", name, said), ...more }]);

describe("chat completions tell a call by its text", () => {
  const offer = offerOf[chat]();
  const tool_calls = [
    { id: "c0", type: "custom", custom: { name: "patch", input: patch } },
    { id: "c1", type: "function", function: { name: "weather", arguments: '{"a":1}' } },
  ];

  test("whole", async () => {
    const { answer } = await ask(chat, offer, callsBoth);
    const { choices } = await json(answer);
    expect(choices).toEqual([
      {
        index: 0,
        message: { role: "assistant", content: "", tool_calls },
        finish_reason: "tool_calls",
      },
    ]);
  });

  test("in a stream, as it comes", async () => {
    const { answer } = await ask(chat, { ...offer, stream: true }, callsBoth);
    const all = await chunks(answer);
    expect(all.map(({ choices }) => choices[0].delta)).toEqual([
      {
        ...{ role: "assistant", content: "" },
        tool_calls: [
          { index: 0, id: "c0", type: "custom", custom: { name: "patch", input: "" } },
          {
            index: 1,
            id: "c1",
            type: "function",
            function: { name: "weather", arguments: '{"a"' },
          },
        ],
      },
      {
        tool_calls: [
          { index: 0, custom: { input: patch.slice(0, 10) } },
          { index: 1, function: { arguments: ":1}" } },
        ],
      },
      { tool_calls: [{ index: 0, custom: { input: patch.slice(10) } }] },
      {},
    ]);
    expect(all.at(-1)?.choices[0].finish_reason).toBe("tool_calls");
  });

  test("with what was held back in the last chunk with a call", async () => {
    const lenient = callOf("patch", '{"input":"print("hi"), "x"}');
    const all = await chunks((await ask(chat, { ...offer, stream: true }, lenient)).answer);
    const pieces = all.flatMap(({ choices }) => choices[0].delta.tool_calls ?? []);
    expect(pieces.map(({ custom }) => custom.input).join("")).toBe('print("hi"), "x');
    expect(all.at(-1)?.choices[0].delta).toEqual({});
  });

  test("of a name that comes late, once it is known what is called", async () => {
    const late = callsTools(
      [toolCall(0, "c0", "", ""), toolCall(1, "c1", "", "")],
      [toolCall(0, "", "patch", '{"input":"a'), toolCall(1, "", "weather", "{}")],
      [toolCall(0, "", "", '"}')],
    );
    const all = await chunks((await ask(chat, { ...offer, stream: true }, late)).answer);
    expect(all.flatMap(({ choices }) => choices[0].delta.tool_calls ?? [])).toEqual([
      { index: 0, id: "c0", type: "custom", custom: { name: "patch", input: "a" } },
      { index: 1, id: "c1", type: "function", function: { name: "weather", arguments: "{}" } },
    ]);
  });

  test("of no name at all, as a call of a function", async () => {
    const nameless = callsTools([toolCall(0, "c0", "", "{")], [toolCall(0, "", "", "}")]);
    const all = await chunks((await ask(chat, { ...offer, stream: true }, nameless)).answer);
    expect(all.flatMap(({ choices }) => choices[0].delta.tool_calls ?? [])).toEqual([
      { index: 0, id: "c0", type: "function", function: { name: "", arguments: "{}" } },
    ]);
  });

  test("of a tool that this choice does not allow, too", async () => {
    const tools = [{ type: "function", function: { name: "weather" } }];
    const tool_choice = { type: "allowed_tools", allowed_tools: { mode: "auto", tools } };
    const { answer } = await ask(chat, { ...offer, tool_choice }, callOf("patch", args));
    const { choices } = await json(answer);
    expect(choices[0].message.tool_calls).toEqual([tool_calls[0]]);
  });

  test("and what is no such object as the text itself", async () => {
    for (const raw of ["*** Begin Patch", '{"patch":"a"}']) {
      const { answer } = await ask(chat, offer, callOf("patch", raw));
      const { choices } = await json(answer);
      expect(choices[0].message.tool_calls[0].custom).toEqual({ name: "patch", input: raw });
    }
  });

  test("with what its server wants to see again, also where no text comes with it", async () => {
    const extra = '{"a":"b"}';
    const calls = callsTools(
      [toolCall(0, "c0", "patch", '{"input":"a"}')],
      [{ ...toolCall(0, "", "", ""), extraContent: extra }],
    );
    const all = await chunks((await ask(chat, { ...offer, stream: true }, calls)).answer);
    const pieces = all.flatMap(({ choices }) => choices[0].delta.tool_calls ?? []);
    expect(pieces.at(-1)).toEqual({ index: 0, custom: { input: "" }, extra_content: { a: "b" } });
  });
});

describe("the Responses API tells a call by its text", () => {
  const offer = offerOf[responses]();
  const called = (input: string, status = "completed", more: object = {}) => ({
    id: expect.stringMatching(/^ctc_[\w-]{10,}$/),
    ...{ type: "custom_tool_call", status, call_id: "c0", name: "patch", ...more, input },
  });

  const eventsOf = async (handle: Handle<"chat">, body: object = offer) =>
    responseEvents((await ask(responses, { ...body, stream: true }, handle)).answer);

  test("whole, and repeats the tool as it was", async () => {
    const { answer } = await ask(responses, offer, callsBoth);
    const { output, tools } = await json(answer);
    expect(output).toEqual([
      called(patch),
      expect.objectContaining({ type: "function_call", name: "weather", arguments: '{"a":1}' }),
    ]);
    expect(tools).toEqual(offer.tools);
  });

  test("in a stream, as it comes", async () => {
    const events = await eventsOf(callsBoth);
    const ofCall = events.filter(({ output_index }) => output_index === 0);
    const at = { output_index: 0, item_id: ofCall[0].item.id };
    const input = "response.custom_tool_call_input";
    expect(ofCall.map(({ sequence_number: _, ...event }) => event)).toEqual([
      {
        ...{ type: "response.output_item.added", output_index: 0 },
        item: called("", "in_progress"),
      },
      { type: `${input}.delta`, ...at, delta: patch.slice(0, 10) },
      { type: `${input}.delta`, ...at, delta: patch.slice(10) },
      { type: `${input}.done`, ...at, input: patch },
      { type: "response.output_item.done", output_index: 0, item: called(patch) },
    ]);
    const { output } = events.at(-1).response;
    expect(output[0]).toEqual(ofCall.at(-1).item);
    expect(output[1]).toMatchObject({ type: "function_call", arguments: '{"a":1}' });
  });

  test("by its own name in a namespace", async () => {
    const inner = [
      { type: "custom", name: "patch" },
      { type: "function", name: "f" },
    ];
    const body = { input: "Hello", tools: [{ type: "namespace", name: "n", tools: inner }] };
    const { asked, answer } = await ask(responses, body, callOf("n__patch", args));
    expect(asked).toMatchObject({
      tools: [{ function: { name: "n__patch" } }, { function: { name: "n__f" } }],
    });
    const { output } = await json(answer);
    expect(output).toEqual([called(patch, "completed", { namespace: "n" })]);
    const again = await ask(responses, { input: output });
    expect(again.asked).toMatchObject({
      messages: [{ toolCalls: [{ function: { name: "n__patch", arguments: args } }] }],
    });
  });

  test("as incomplete where the answer was cut, and where it failed", async () => {
    const cut: ToolCall[] = [toolCall(0, "c0", "patch", '{"input":"a\\u00')];
    const cuts: Handle<"chat"> = async function* () {
      yield [{ ...piece(""), choices: [deltaChoice("", "length", cut)] }];
    };
    const { answer } = await ask(responses, offer, cuts);
    expect((await json(answer)).output).toEqual([called("a", "incomplete")]);
    expect((await eventsOf(cuts)).at(-1).response.output).toEqual([called("a", "incomplete")]);
    const fails: Handle<"chat"> = async function* (call) {
      yield [{ ...piece(""), choices: [deltaChoice("", "", cut)] }];
      yield* breaksAfter(new Error("it broke"))(call);
    };
    const { type, response } = (await eventsOf(fails)).at(-1);
    expect(type).toBe("response.failed");
    expect(response.output).toEqual([called("a", "incomplete")]);
  });
});

test("what was held of a text is told at the end of a stream", async () => {
  const { post } = await serveChat(
    callsTools(
      [toolCall(0, "c0", "patch", '{"input":"say \\"hi')],
      [toolCall(0, "", "", '"} now')],
    ),
  );
  const all = await chunks(await post(chat, { ...offerOf[chat](), stream: true }));
  const told = all.flatMap(({ choices }) => choices[0].delta.tool_calls ?? []);
  expect(told.map(({ custom }) => custom.input).join("")).toBe('say "hi"} now');
});
