/** Requests of Anthropic's Messages API, and what becomes of them. */
import { describe, expect, test } from "vitest";
import { toolCall } from "../../src/core/tool-calls.js";
import { imagePart, say, textPart } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";
import { asked as askedAt } from "./asked.js";
import { json, serve } from "./serve.js";

const path = "/v1/messages";
const text = (said: string) => ({ type: "text", text: said });
const ask = (...messages: object[]) => ({ model: "chat-1", max_tokens: 100, messages });
const hello = (more: object = {}) => ({ ...ask({ role: "user", content: "Hello" }), ...more });

/** What a backend is asked. */
const asked = (body: object | string) => askedAt(path, body);

const messagesOf = async (body: object) => (await asked(body)).request.messages;

describe("messages", () => {
  test("are texts, or texts in blocks, behind what the model is told before anything else", async () => {
    const body = {
      ...ask(
        { role: "user", content: [text("a"), text("b")] },
        { role: "assistant", content: "c" },
      ),
      system: [
        text("x-anthropic-billing-header: cc_version=2.1.1;"),
        { ...text("Be brief."), cache_control: { type: "ephemeral" } },
        text("Be kind."),
      ],
    };
    expect(await messagesOf(body)).toEqual([
      say("system", "Be brief.\n\nBe kind."),
      say("user", "a\n\nb"),
      say("assistant", "c"),
    ]);
    const [first] = await messagesOf({ ...body, system: "Be brief." });
    expect(first).toEqual(say("system", "Be brief."));
    const noteAlone = { ...body, system: [text("x-anthropic-billing-header: a")] };
    expect((await messagesOf(noteAlone))[0]).toEqual(say("user", "a\n\nb"));
  });

  test("show images, in them or by their address, and texts of documents", async () => {
    const blocks = [
      text("This:"),
      { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw==" } },
      { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "A letter." } },
    ];
    expect(await messagesOf(ask({ role: "user", content: blocks }))).toEqual([
      say("user", "", {
        parts: [
          textPart("This:"),
          imagePart("data:image/png;base64,iVBORw=="),
          imagePart("https://example.com/a.png"),
          textPart("A letter."),
        ],
      }),
    ]);
  });

  test("tell titles with the texts of documents, and what a search found", async () => {
    const letter = { type: "text", media_type: "text/plain", data: "Dear." };
    const found = {
      ...{ type: "search_result", source: "https://example.com/a", title: 'On "A"' },
      ...{ content: [text("One."), text("Two.")], citations: { enabled: true } },
    };
    const told =
      '<search_result title="On \\"A\\"" source="https://example.com/a">\nOne.\n\nTwo.\n</search_result>';
    const body = ask(
      {
        role: "user",
        content: [
          { type: "document", title: "a letter", source: letter },
          { type: "document", title: "two", source: { type: "content", content: [text("a")] } },
          { type: "document", title: null, source: letter },
          found,
        ],
      },
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "look", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: [found] }] },
    );
    const [said, , returned] = await messagesOf(body);
    const files = ['a letter">\nDear.', 'two">\na'].map((it) => `<file name="${it}\n</file>`);
    expect(said).toEqual(say("user", [...files, "Dear.", told].join("\n\n")));
    expect(returned).toEqual(say("tool", told, { toolCallId: "a" }));
  });

  test("have calls and what came of them, each in a message of its own, ahead of what is said", async () => {
    const picture = { type: "base64", media_type: "image/png", data: "iVBORw==" };
    const body = ask(
      { role: "user", content: "Rome?" },
      {
        role: "assistant",
        content: [
          text("Let me"),
          text(" look."),
          { type: "tool_use", id: "a", name: "weather", input: { city: "Rome" } },
          { type: "tool_use", id: "b", name: "now", input: {}, extra_content: { google: {} } },
          { type: "tool_use", id: "c", name: "map", input: {} },
          { type: "tool_use", id: "d", name: "fail", input: {} },
          { type: "tool_use", id: "e", name: "rest", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          text("Well?"),
          { type: "tool_result", tool_use_id: "a", content: "sunny" },
          { type: "tool_result", tool_use_id: "b", content: [text("ten"), text("past")] },
          {
            ...{ type: "tool_result", tool_use_id: "c" },
            content: [text("see:"), { type: "image", source: picture }],
          },
          { type: "tool_result", tool_use_id: "d", is_error: true },
          { type: "tool_result", tool_use_id: "e" },
        ],
      },
    );
    expect(await messagesOf(body)).toEqual([
      say("user", "Rome?"),
      say("assistant", "Let me look.", {
        toolCalls: [
          toolCall(0, "a", "weather", '{"city":"Rome"}'),
          toolCall(0, "b", "now", "{}", '{"google":{}}'),
          toolCall(0, "c", "map", "{}"),
          toolCall(0, "d", "fail", "{}"),
          toolCall(0, "e", "rest", "{}"),
        ],
      }),
      say("tool", "sunny", { toolCallId: "a" }),
      say("tool", "ten\npast", { toolCallId: "b" }),
      say("tool", "see:", { toolCallId: "c" }),
      say("tool", "error", { toolCallId: "d" }),
      say("tool", "", { toolCallId: "e" }),
      say("user", "", {
        parts: [imagePart("data:image/png;base64,iVBORw=="), textPart("Well?")],
      }),
    ]);
  });

  test("of what tools said alone are no message of the user's", async () => {
    const result = { type: "tool_result", tool_use_id: "a", content: "sunny" };
    const body = ask({ role: "user", content: [result] });
    expect(await messagesOf(body)).toEqual([say("tool", "sunny", { toolCallId: "a" })]);
  });

  test("name the tools that a search of the client's found", async () => {
    const found = ["a", "b"].map((tool_name) => ({ type: "tool_reference", tool_name }));
    const body = ask(
      { role: "assistant", content: [{ type: "tool_use", id: "s", name: "search", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "s", content: found }] },
    );
    expect((await messagesOf(body))[1]).toEqual(say("tool", "a\nb", { toolCallId: "s" }));
  });

  test("do not tell which of Anthropic's models went on", async () => {
    const fallback = { type: "fallback", from: { model: "a" }, to: { model: "b" } };
    const body = ask({ role: "assistant", content: [text("a"), fallback, text("b")] });
    expect(await messagesOf(body)).toEqual([say("assistant", "ab")]);
  });

  test("have thoughts, with Claude's own signatures in the form that others know", async () => {
    const body = ask(
      { role: "user", content: "6 × 7?" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "Erk=" },
          { type: "redacted_thinking", data: "xyz" },
          { type: "thinking", thinking: "Yes.", signature: "" },
          text("42"),
        ],
      },
    );
    const [, assistant] = await messagesOf(body);
    expect(assistant).toMatchObject({ content: "42", reasoningContent: "Hm.\n\nYes." });
    const format = "anthropic-claude-v1";
    expect(JSON.parse(assistant?.reasoningDetails ?? "")).toEqual([
      { type: "reasoning.text", text: "Hm.", signature: "Erk=", format, index: 0 },
      { type: "reasoning.encrypted", data: "xyz", format, index: 1 },
    ]);
  });
});

describe("messages of the system in between", () => {
  const system = (more: object) => ({ role: "system", ...more });
  const users = (content: string) => ({ role: "user", content });

  test("are told as such, those that are cleared until the user says more", async () => {
    const clear_at = "next_user_message";
    const body = ask(
      users("a"),
      system({ content: "For now.", clear_at }),
      { role: "assistant", content: "b" },
      system({ content: "Always.", clear_at: "never" }),
      users("c"),
      system({ content: [text("For this.")], clear_at }),
    );
    expect(await messagesOf(body)).toEqual([
      say("user", "a"),
      say("assistant", "b"),
      say("system", "Always."),
      say("user", "c"),
      say("system", "For this."),
    ]);
  });

  test("that say how to answer are warned of, and nothing where they say nothing else", async () => {
    const { request, warnings } = await asked(
      ask(users("a"), system({ output_config: { effort: "low" } })),
    );
    expect(request.messages).toEqual([say("user", "a")]);
    expect(warnings).toEqual(["messages: output_config in them is not supported, ignored"]);
    const nothing = await asked(ask(users("a"), system({ content: "b", output_config: {} })));
    expect(nothing.warnings).toEqual([]);
    expect(nothing.request.messages).toEqual([say("user", "a"), say("system", "b")]);
  });

  const change = (type: string, tool: object) => ({ type, tool });
  const reference = (name: string) => ({ type: "tool_reference", name });
  const defined = (definition: object) => ({ type: "tool_definition", definition });
  const tools = [{ name: "a" }, { name: "b" }, { type: "bash_20250124", name: "bash" }];

  test("add tools and take them away", async () => {
    const offered = async (...content: object[]) => {
      const said = { ...ask(users("a"), system({ content })), tools };
      const { request, warnings } = await asked(said);
      expect(request.messages).toEqual([say("user", "a")]);
      return [request.tools.map(({ function: it }) => it?.name).join(), warnings.length];
    };
    const removal = (name: string) => change("tool_removal", reference(name));
    const addition = (name: string) => change("tool_addition", reference(name));
    const definition = (it: object) => change("tool_addition", defined(it));
    expect(await offered(removal("a"))).toEqual(["b", 1]);
    expect(await offered(removal("a"), addition("a"), removal("b"))).toEqual(["a", 1]);
    expect(await offered(definition({ name: "c" }), removal("bash"))).toEqual(["a,b,c", 1]);
    expect(await offered(definition({ name: "c" }), removal("c"))).toEqual(["a,b", 1]);
    expect(await offered(removal("b"), definition({ name: "b" }))).toEqual(["a,b", 1]);
    const web = { type: "web_search_20250305", name: "web_search" };
    expect(await offered(definition(web))).toEqual(["a,b", 2]);
    const ofServer = { type: "mcp_toolset_reference", server_name: "s" };
    expect(await offered(change("tool_removal", ofServer))).toEqual(["a,b", 1]);
    const alone = ask(users("a"), system({ content: [text("b"), definition({ name: "c" })] }));
    const { request } = await asked(alone);
    expect(request.tools).toMatchObject([{ function: { name: "c" } }]);
    expect(request.messages).toEqual([say("user", "a"), say("system", "b")]);
  });

  test("define one anew that was dropped for its type: it may have to be called", async () => {
    const bash = { name: "bash", input_schema: { type: "object" } };
    const content = [
      change("tool_removal", reference("bash")),
      change("tool_addition", defined(bash)),
    ];
    const tool_choice = { type: "tool", name: "bash" };
    const said = { ...ask(users("a"), system({ content })), tools, tool_choice };
    const { request, warnings } = await asked(said);
    expect(request.tools.map(({ function: it }) => it?.name)).toEqual(["a", "b", "bash"]);
    expect(request.toolChoice).toMatchObject({ type: "function", function: { name: "bash" } });
    expect(warnings).toEqual([]);
  });

  test.each<[string, object]>([
    ["tool", { type: "tool_addition" }],
    ["tool.type", change("tool_addition", { type: "tool", name: "a" })],
    ["tool.type", change("tool_removal", defined({ name: "a" }))],
    ["tool.name", change("tool_removal", reference("c"))],
    ["tool.name", change("tool_addition", { type: "tool_reference" })],
    ["tool.definition.name", change("tool_addition", defined({ name: 5 }))],
    [
      "tool.definition.input_schema",
      change("tool_addition", defined({ name: "c", input_schema: [] })),
    ],
  ])("422 where such a change can't be read: %s", async (member, block) => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const body = { ...ask(users("a"), system({ content: [text("b"), block] })), tools };
    const answer = await server.post(path, body);
    expect(answer.status).toBe(422);
    const param = `messages[1].content[1].${member}`;
    expect((await json(answer)).error).toMatchObject({ code: "invalid_fields", param });
  });
});

describe("settings", () => {
  test("are the contract's", async () => {
    const body = hello({ temperature: 0.5, top_p: 0.9, top_k: 3, stop_sequences: ["."], seed: 7 });
    expect((await asked(body)).request).toMatchObject({
      ...{ maxTokens: 100, temperature: 0.5, topP: 0.9, topK: 3, stop: ["."], seed: 7n },
    });
  });

  test.each<[object, string, boolean]>([
    [{}, "", false],
    [{ thinking: { type: "disabled" } }, "none", false],
    [{ thinking: { type: "adaptive" } }, "", true],
    [{ thinking: { type: "enabled", budget_tokens: 1024 } }, "low", true],
    [{ thinking: { type: "enabled", budget_tokens: 2048 } }, "low", true],
    [{ thinking: { type: "enabled", budget_tokens: 8000 } }, "medium", true],
    [{ thinking: { type: "enabled", budget_tokens: 31999 } }, "high", true],
    [
      { thinking: { type: "enabled", budget_tokens: 1024 }, output_config: { effort: "max" } },
      "max",
      true,
    ],
    [{ output_config: { effort: "medium" } }, "medium", false],
    [{ thinking: { type: "between_tools" } }, "", true],
    [{ include_reasoning: true }, "", true],
  ])("say how much to think: %j", async (more, effort, included) => {
    const { request } = await asked(hello(more));
    expect([request.reasoningEffort, request.includeReasoning]).toEqual([effort, included]);
  });

  test("have tools, and the choice among them", async () => {
    const input_schema = { type: "object", properties: { city: { type: "string" } } };
    const weather = { name: "weather", description: "The weather.", input_schema, strict: true };
    const choice = { type: "tool", name: "weather", disable_parallel_tool_use: true };
    const body = hello({ tools: [weather, { type: "custom", name: "now" }], tool_choice: choice });
    expect((await asked(body)).request).toMatchObject({
      tools: [
        {
          function: {
            ...{ name: "weather", description: "The weather.", strict: true },
            parameters: JSON.stringify(input_schema),
          },
        },
        { function: { name: "now", parameters: "" } },
      ],
      toolChoice: { type: "function", function: { name: "weather" } },
      parallelToolCalls: false,
    });
    for (const [type, ours] of [
      ["auto", "auto"],
      ["any", "required"],
      ["none", "none"],
    ]) {
      const { request } = await asked(hello({ tools: [weather], tool_choice: { type } }));
      expect(request.toolChoice).toMatchObject({ type: ours, function: undefined });
      expect(request.parallelToolCalls).toBeUndefined();
    }
  });

  test("tell of examples where they tell what a tool does", async () => {
    const tool = (name: string, description?: string, ...input_examples: object[]) => ({
      ...{ name, description, input_examples, input_schema: { type: "object" } },
      ...{ eager_input_streaming: true, allowed_callers: ["direct"] },
    });
    const body = `{"model":"chat-1","max_tokens":9,"messages":[{"role":"user","content":"a"}],"tools":${JSON.stringify(
      [
        tool("find", "Finds.", { id: 1 }, { id: 0 }),
        tool("look", undefined, {}),
        tool("see", "So."),
      ],
    ).replace('"id":0', '"id":9007199254740993')}}`;
    const { request, warnings } = await asked(body);
    expect(request.tools.map(({ function: it }) => it?.description)).toEqual([
      'Finds.\n\nExamples of its input:\n{"id":1}\n{"id":9007199254740993}',
      "Examples of its input:\n{}",
      "So.",
    ]);
    expect(warnings).toEqual([]);
  });

  test("ask for a form of the answer", async () => {
    const schema = { type: "object", properties: {} };
    const format = { type: "json_schema", schema };
    const { request } = await asked(hello({ output_config: { format } }));
    const older = await asked(hello({ output_format: format }));
    expect(older.request.responseFormat).toEqual(request.responseFormat);
    expect(request.responseFormat).toMatchObject({
      type: "json_schema",
      jsonSchema: { name: "output", schema: JSON.stringify(schema) },
    });
  });

  test("that only Anthropic can honour are dropped with a warning", async () => {
    const tools = [
      { type: "web_search_20250305", name: "web_search" },
      { type: "bash_20250124", name: "bash" },
      { name: "mine", input_schema: { type: "object" } },
    ];
    const more = {
      ...{ tools, mcp_servers: [{}], container: "c", context_management: null },
      ...{ fallbacks: [{ model: "m" }], inference_geo: "us", fallback_credit_token: "t" },
      ...{ speed: "fast", diagnostics: { previous_message_id: null } },
      output_config: { task_budget: { type: "tokens", total: 20_000 } },
    };
    const { request, warnings } = await asked(hello({ ...more, metadata: { user_id: "u" } }));
    expect(request.tools.map(({ function: it }) => it?.name)).toEqual(["mine"]);
    expect(warnings).toEqual([
      "container: not supported, ignored",
      "mcp_servers: not supported, ignored",
      "fallbacks: not supported, ignored",
      "fallback_credit_token: not supported, ignored",
      "inference_geo: not supported, ignored",
      "speed: not supported, ignored",
      "diagnostics: not supported, ignored",
      "tools: web_search_20250305 is not supported, ignored",
      "tools: bash_20250124 is not supported, ignored",
      "output_config.task_budget: not supported, ignored",
    ]);
  });

  test("an image that is to be refused rather than made smaller is shown with a warning", async () => {
    const source = { type: "url", url: "https://example.com/a.png" };
    const shown = (transformations: unknown) => ({ type: "image", source, transformations });
    const said = (...content: object[]) => asked(ask({ role: "user", content }));
    const { request, warnings } = await said(shown({ oversized_image: "error" }), text("What?"));
    expect(request.messages[0]?.parts).toEqual([imagePart(source.url), textPart("What?")]);
    expect(warnings).toEqual(["messages: oversized_image of images is not supported, ignored"]);
    const { warnings: none } = await said(shown({}), shown({ oversized_image: "downsize" }));
    expect(none).toEqual([]);
  });

  test("are not told of where they ask for what is done anyway", async () => {
    const billing_policy = { type: "billing_policy", bill_to: "self" };
    const more = { speed: "standard", diagnostics: null, billing_policy, safeguards: [] };
    expect((await asked(hello(more))).warnings).toEqual([]);
  });

  const details = { error_code: "thread_unsupported_request", unsupported: ["thread"] };

  test.each([
    ["thread", { type: "create" }, details],
    ["compaction", {}, undefined],
    ["safeguards", [{ type: "dangerous_tool_use" }], undefined],
    ["billing_policy", { type: "billing_policy", bill_to: "user_profile" }, undefined],
  ])("that nothing here can do are refused: %s", async (name, value, details) => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const answer = await server.post(path, hello({ [name]: value }));
    expect(answer.status).toBe(400);
    expect((await json(answer)).error).toMatchObject({
      ...{ code: "unsupported_parameter", param: name, ...(details && { details }) },
    });
  });

  test("of more tokens than the model has are cut to those", async () => {
    const backend = scripted({ chat: says("Hi") }, [chatModel("chat-1", { maxTokens: 64 })]);
    const server = await serve(backend);
    const { warnings } = await json(await server.post(path, hello({ max_tokens: 32_000 })));
    expect(warnings).toEqual(["max_tokens: cut to 64, the most for this model"]);
    expect(backend.asked[0]).toMatchObject({ maxTokens: 64 });
    expect((await server.post("/llm", hello({ max_tokens: 32_000 }))).status).toBe(422);
  });
});

test("of several tools with one name the last is offered", async () => {
  const { request } = await asked(
    hello({
      tools: [
        { name: "f", description: "first", input_schema: {} },
        { name: "f", description: "second", input_schema: {} },
      ],
    }),
  );
  expect(request.tools).toMatchObject([{ function: { name: "f", description: "second" } }]);
});

const user = (...content: unknown[]) => ask({ role: "user", content });
const assistant = (...content: unknown[]) => ask({ role: "assistant", content });
const picture = (type: string) => ({
  type: "image",
  source: { type, url: "https://example.com/a" },
});
const source = (it: unknown) => user({ type: "image", source: it });

test.each<[string, object]>([
  ["tools[0].input_examples", hello({ tools: [{ name: "f", input_examples: ["a"] }] })],
  ["messages", { max_tokens: 5 }],
  ["messages", { messages: {} }],
  ["messages", { messages: [], system: "Be brief." }],
  ["messages", ask(...Array.from({ length: 10_001 }, () => ({ role: "user", content: "a" })))],
  [
    "messages[0].content",
    assistant(
      ...Array.from({ length: 10_001 }, () => ({
        type: "tool_use",
        id: "a",
        name: "f",
        input: {},
      })),
    ),
  ],
  ["messages[0].role", ask({ role: "king", content: "a" })],
  ["messages[0].content", ask({ role: "user", content: 5 })],
  ["messages[0].content[0]", user("a")],
  ["messages[0].content[0].type", user({ text: "a" })],
  ["messages[0].content[1].text", user({ type: "text", text: "a" }, { type: "text" })],
  ["system", { ...hello(), system: [{ type: "text", text: { toString: 1 } }] }],
  [
    "messages[0].content[0].content[1].text",
    user({
      ...{ type: "tool_result", tool_use_id: "a" },
      content: [text("a"), { type: "text", text: { toString: 1 } }],
    }),
  ],
  [
    "messages[0].content[0].title",
    user({ type: "search_result", title: {}, source: "a", content: [text("a")] }),
  ],
  ["messages[0].content[0].title", user({ type: "search_result", source: "a", content: [] })],
  [
    "messages[0].content[0].content[0].tool_name",
    user({ type: "tool_result", tool_use_id: "a", content: [{ type: "tool_reference" }] }),
  ],
  [
    "messages[0].content[0].content",
    user({ type: "search_result", source: "a", title: "b", content: "c" }),
  ],
  ["messages[0].content[0].source", source(5)],
  ["messages[0].content[0].source", source({ type: "base64", media_type: "image/png" })],
  [
    "messages[0].content[1].source",
    user(text("a"), { type: "document", source: { type: "base64" } }),
  ],
  [
    "messages[0].content[1].source",
    user(text("a"), { type: "image", source: { type: "url", url: "ftp://a/b" } }),
  ],
  [
    "messages[0].content[1].source.data",
    user(text("a"), { type: "document", source: { type: "text", media_type: "text/plain" } }),
  ],
  [
    "messages[0].content[0].source.content",
    user({ type: "document", source: { type: "content", content: 5 } }),
  ],
  ["messages[0].content[1].text", user(picture("url"), { type: "text", text: 5 })],
  ["messages[0].content[0].tool_use_id", user({ type: "tool_result", content: "a" })],
  ["messages[0].content[0].content", user({ type: "tool_result", tool_use_id: "a", content: 5 })],
  [
    "messages[0].content[0].content[1]",
    user({ type: "tool_result", tool_use_id: "a", content: [text("b"), 5] }),
  ],
  ["messages[0].content[1].input", assistant(text("a"), { type: "tool_use", name: "f", input: 5 })],
  ["messages[0].content[0].name", assistant({ type: "tool_use", id: "a", name: 5, input: {} })],
  ["messages[0].content[0].thinking", assistant({ type: "thinking", signature: "a" })],
  ["messages[0].content[0].signature", assistant({ type: "thinking", thinking: "", signature: 5 })],
  ["messages[0].content[0].data", assistant({ type: "redacted_thinking" })],
  ["system", hello({ system: 5 })],
  ["system", hello({ system: [{ type: "image" }] })],
  ["stop_sequences[1]", hello({ stop_sequences: [".", ""] })],
  ["max_tokens", hello({ max_tokens: 0 })],
  ["thinking", hello({ thinking: "on" })],
  ["output_config", hello({ output_config: 5 })],
  ["output_config.effort", hello({ output_config: { effort: "huge" } })],
  ["output_config.format.type", hello({ output_config: { format: { type: "xml" } } })],
  [
    "output_config.format.schema",
    hello({ output_config: { format: { type: "json_schema", schema: 5 } } }),
  ],
  ["tools", hello({ tools: {} })],
  ["tools[0].name", hello({ tools: [{ input_schema: {} }] })],
  [
    "tools[1].input_schema",
    hello({
      tools: [
        { type: "bash_1", name: "b" },
        { name: "a", input_schema: [] },
      ],
    }),
  ],
  ["tool_choice.type", hello({ tool_choice: { type: "always" } })],
  ["tool_choice.name", hello({ tools: [{ name: "a" }], tool_choice: { type: "tool", name: "b" } })],
  ["tool_choice.name", hello({ tools: [{ name: "a" }], tool_choice: { type: "tool" } })],
  ["stream", hello({ stream: "yes" })],
])("422: %s", async (field, body) => {
  const server = await serve(scripted({ chat: says("Hi") }));
  const answer = await server.post(path, body);
  expect(answer.status).toBe(422);
  const { error, detail } = await json(answer);
  expect(error).toMatchObject({
    type: "invalid_request_error",
    code: "invalid_fields",
    param: field,
  });
  expect(error.message).toContain(`${field}: `);
  const loc = field.split(/[.[\]]+/).filter((it) => it !== "");
  expect(detail[0].loc.map(String)).toEqual(["body", ...loc]);
  // Of one that can't be read nothing else is said.
  const fields = detail.map((it: { loc: unknown[] }) => it.loc.join("."));
  expect(fields).toEqual([...new Set(fields)]);
});

test.each<[string, object]>([
  [
    "messages[0].content[2]",
    user({ type: "tool_result", tool_use_id: "a" }, text("b"), { type: "container_upload" }),
  ],
  ["messages[0].content[0]", user({ type: "image", source: { type: "file", file_id: "f" } })],
  [
    "messages[0].content[0]",
    assistant({ type: "server_tool_use", id: "a" }, { type: "web_search_tool_result" }),
  ],
  [
    "tool_choice",
    hello({
      tools: [{ type: "bash_1", name: "bash" }],
      tool_choice: { type: "tool", name: "bash" },
    }),
  ],
])("400: %s", async (param, body) => {
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend);
  const answer = await server.post(path, body);
  expect(answer.status).toBe(400);
  expect((await json(answer)).error).toMatchObject({ code: "unsupported_parameter", param });
  expect(backend.asked).toEqual([]);
});
