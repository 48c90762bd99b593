/** Custom tools, whose calls are texts: by both of OpenAI's APIs. */
import { describe, expect, test } from "vitest";
import { toolCall } from "../../src/core/tool-calls.js";
import { say } from "../support/messages.js";
import { says } from "../support/scripted.js";
import { functionTool } from "../support/tools.js";
import { args, ask, offerOf, patch } from "./custom-tool.js";
import { hello, json, serveChat } from "./serve.js";

const chat = "/v1/chat/completions";
const responses = "/v1/responses";

const definition = 'start: "a"+';

const paths = [chat, responses] as const;

const freeText = expect.stringMatching(/^Edits files\.\n\n`input` is free text that/);

const taken = (description: string) =>
  functionTool(
    "patch",
    {
      type: "object",
      properties: { input: { type: "string" } },
      required: ["input"],
      additionalProperties: false,
    },
    { description },
  );

describe.each(paths)("POST %s", (path) => {
  const offer = offerOf[path];

  test("offers a function with one text, which says so", async () => {
    const { asked, answer } = await ask(path, offer());
    expect(asked).toMatchObject({
      tools: [{ type: "function", function: { name: "weather" } }, taken(freeText)],
    });
    expect(answer.headers.get("x-lintel-warnings")).toBeNull();
  });

  test.each([
    ["lark", "Lark grammar"],
    ["regex", "regular expression"],
  ])(
    "tells the model of a grammar, and the client that nobody enforces it: %s",
    async (syntax, words) => {
      const { asked, answer } = await ask(path, offer({ syntax, definition }));
      const said = expect.stringMatching(new RegExp(`match this ${words}:\n\nstart: "a"\\+$`));
      expect(asked).toMatchObject({ tools: [{}, taken(said)] });
      expect((await json(answer)).warnings).toEqual([
        expect.stringMatching(/^tools: the grammar of/),
      ]);
    },
  );

  test("takes a text as the format, and no description", async () => {
    const { tools, ...rest } = offer();
    const format = { type: "text" };
    const tool = { type: "custom", name: "patch", format };
    const bare = path === chat ? { type: "custom", custom: { name: "patch", format } } : tool;
    const { asked } = await ask(path, { ...rest, tools: [bare] });
    expect(asked).toMatchObject({ tools: [taken(expect.stringMatching(/^`input` is free/))] });
  });

  test("a call of it can be asked for, and be among those that are allowed", async () => {
    const named = path === chat ? { custom: { name: "patch" } } : { name: "patch" };
    const choice = { type: "custom", ...named };
    const one = await ask(path, { ...offer(), tool_choice: choice });
    expect(one.asked).toMatchObject({
      toolChoice: { type: "function", function: { name: "patch" } },
    });
    const told = { mode: "required", tools: [choice] };
    const allowed = path === chat ? { allowed_tools: told } : told;
    const some = await ask(path, {
      ...offer(),
      tool_choice: { type: "allowed_tools", ...allowed },
    });
    expect(some.asked).toMatchObject({
      ...{ tools: [{ function: { name: "patch" } }], toolChoice: { type: "required" } },
    });
  });
});

describe("what was called comes back to the model as a call of the function", () => {
  const conversation = [
    say("user", "Hello"),
    say("assistant", "", {
      toolCalls: [toolCall(0, "c0", "patch", args), toolCall(0, "c1", "weather", '{"a":1}')],
    }),
    say("tool", "done", { toolCallId: "c0" }),
  ];

  test("chat completions", async () => {
    const tool_calls = [
      { id: "c0", type: "custom", custom: { name: "patch", input: patch } },
      { id: "c1", type: "function", function: { name: "weather", arguments: '{"a":1}' } },
    ];
    const messages = [
      ...hello().messages,
      { role: "assistant", content: null, tool_calls },
      { role: "tool", tool_call_id: "c0", content: "done" },
    ];
    const { asked } = await ask(chat, { messages });
    expect(asked).toHaveProperty("messages", conversation);
  });

  test("responses", async () => {
    const input = [
      { role: "user", content: "Hello" },
      { type: "custom_tool_call", id: "ctc_1", call_id: "c0", name: "patch", input: patch },
      { type: "function_call", call_id: "c1", name: "weather", arguments: '{"a":1}' },
      {
        ...{ type: "custom_tool_call_output", call_id: "c0" },
        output: [{ type: "input_text", text: "done" }],
      },
    ];
    const { asked } = await ask(responses, { input });
    expect(asked).toHaveProperty("messages", conversation);
  });

  test("with what its server wants to see again", async () => {
    const extra_content = { google: { thought_signature: "abc" } };
    const call = { id: "c0", type: "custom", custom: { name: "f", input: "" }, extra_content };
    const messages = [{ role: "assistant", tool_calls: [call] }];
    const item = { type: "custom_tool_call", call_id: "c0", name: "f", input: "", extra_content };
    for (const { asked } of [
      await ask(chat, { messages }),
      await ask(responses, { input: [item] }),
    ]) {
      expect(asked).toMatchObject({
        messages: [{ toolCalls: [{ extraContent: JSON.stringify(extra_content) }] }],
      });
    }
  });
});

describe("faults have the client's names", () => {
  const custom = (more: object) => ({ type: "custom", custom: { name: "f", ...more } });
  const flat = (more: object) => ({ type: "custom", name: "f", ...more });
  const grammar = (more: object) => ({ format: { type: "grammar", grammar: more } });
  const called = (more: object) => ({
    messages: [{ role: "assistant", tool_calls: [{ id: "a", type: "custom", ...more }] }],
  });
  const item = { type: "custom_tool_call", call_id: "a", name: "f", input: "a" };
  const search = { type: "web_search" };
  const chosen = (choice: object, tools: object[]) => ({ tools, tool_choice: choice });

  test.each([
    ["tools[0].custom", hello({ tools: [{ type: "custom" }] })],
    ["tools[0].custom", hello({ tools: [{ type: "custom", custom: "f" }] })],
    ["tools[0].custom.name", hello({ tools: [{ type: "custom", custom: {} }] })],
    ["tools[1].custom.name", hello({ tools: [custom({}), custom({ name: 5 })] })],
    ["tools[1].custom.name", hello({ tools: [{ function: { name: "f" } }, custom({})] })],
    ["tools[0].custom.description", hello({ tools: [custom({ description: 5 })] })],
    ["tools[0].custom.format", hello({ tools: [custom({ format: "text" })] })],
    ["tools[0].custom.format.type", hello({ tools: [custom({ format: { type: "json" } })] })],
    ["tools[0].custom.format.grammar", hello({ tools: [custom({ format: { type: "grammar" } })] })],
    ["tools[0].custom.format.grammar.syntax", hello({ tools: [custom(grammar({ definition }))] })],
    [
      "tools[0].custom.format.grammar.definition",
      hello({ tools: [custom(grammar({ syntax: "lark" }))] }),
    ],
    ["tool_choice.custom", hello(chosen({ type: "custom" }, [custom({})]))],
    ["tool_choice.custom.name", hello(chosen(custom({ name: "g" }), [custom({})]))],
    [
      "tool_choice.allowed_tools.tools[0]",
      hello({
        ...chosen(
          {
            type: "allowed_tools",
            allowed_tools: { mode: "auto", tools: [custom({ name: "g" })] },
          },
          [custom({})],
        ),
      }),
    ],
    ["messages[0].tool_calls[0].custom", called({})],
    ["messages[0].tool_calls[0].custom.name", called({ custom: { name: 5, input: "" } })],
    ["messages[0].tool_calls[0].custom.input", called({ custom: { name: "f" } })],
    ["messages[0].tool_calls[0].custom.input", called({ custom: { name: "f", input: {} } })],
  ])("422: %s", async (field, body) => {
    const { post } = await serveChat(says("Hi"));
    const answer = await post(chat, body);
    expect(answer.status).toBe(422);
    expect((await json(answer)).error.param).toBe(field);
  });

  test.each([
    ["tools[1].name", { tools: [search, flat({ name: 5 })] }],
    ["tools[2].name", { tools: [flat({}), search, { type: "function", name: "f" }] }],
    ["tools[1].description", { tools: [search, flat({ description: 5 })] }],
    ["tools[1].format", { tools: [search, flat({ format: [] })] }],
    ["tools[1].format.type", { tools: [search, flat({ format: {} }), flat({ name: "g" })] }],
    ["tools[1].format.syntax", { tools: [search, flat({ format: { type: "grammar" } })] }],
    [
      "tools[1].tools[0].format.definition",
      {
        tools: [
          search,
          {
            ...{ type: "namespace", name: "n" },
            tools: [flat({ format: { type: "grammar", syntax: "regex" } })],
          },
        ],
      },
    ],
    ["tool_choice.name", chosen(flat({ name: "g" }), [flat({})])],
    ["tool_choice.name", chosen({ type: "custom" }, [flat({})])],
    ["input[0].input", { input: [{ ...item, input: undefined }] }],
    ["input[0].input", { input: [{ ...item, input: {} }] }],
    ["input[0].name", { input: [{ ...item, name: 5 }] }],
    ["input[0].call_id", { input: [{ ...item, call_id: 5 }] }],
    [
      "input[1].output",
      { input: [item, { type: "custom_tool_call_output", call_id: "a", output: 5 }] },
    ],
  ])("422: %s of a response", async (field, more) => {
    const { post } = await serveChat(says("Hi"));
    const answer = await post(responses, { input: "Hello", ...more });
    expect(answer.status).toBe(422);
    expect((await json(answer)).error.param).toBe(field);
  });
});

test.each(paths)("POST %s: a tool that is offered twice is one", async (path) => {
  const { post } = await serveChat(says("Hi"));
  const offer = offerOf[path]();
  const answer = await post(path, { ...offer, tools: [...offer.tools, offer.tools[1]] });
  expect(answer.status).toBe(200);
});

describe("of lists that are too long nothing is looked at", () => {
  const many = (item: object) => Array(10_001).fill({ type: "custom", ...item });
  const calls = many({ id: "a", custom: { name: "patch" } });
  const messages = [{ role: "assistant", content: "", tool_calls: calls }];
  const wrong = { name: "patch", format: 1 };

  test.each([
    [chat, { ...hello(), tools: many({ custom: wrong }) }, "tools"],
    [chat, { ...hello(), messages }, "messages[0].tool_calls"],
    [responses, { input: many({ type: "additional_tools" }) }, "input"],
  ])("POST %s %#", async (path, body, field) => {
    const { post } = await serveChat(says("Hi"));
    const { error } = await json(await post(path, body));
    expect(error.message).toBe(`${field}: number of items must be at most 10000`);
  });
});
