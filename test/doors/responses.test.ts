/** `POST /v1/responses`: what reaches a backend, and what does not. */
import { describe, expect, test } from "vitest";
import { toolCall } from "../../src/core/tool-calls.js";
import { imagePart, say, textPart } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";
import { json, serve, serveChat } from "./serve.js";

const path = "/v1/responses";
const input = "Hello";

/** Posts requests, and tells what the backend was asked for the last one. */
async function posting() {
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend);
  return { post: (body: object) => server.post(path, body), asked: () => backend.asked.at(-1) };
}

/** What a backend is asked for a request that is answered, without any warning. */
async function askedFor(body: object) {
  const backend = scripted({ chat: says("Hi") });
  const { post } = await serve(backend);
  const response = await post(path, body);
  expect(await json(response)).toMatchObject({ object: "response" });
  expect(response.headers.get("x-lintel-warnings")).toBeNull();
  return backend.asked[0];
}

const messagesFor = async (body: object) => (await askedFor(body)) as object;

const png = "data:image/png;base64,iVBORw0KGgo=";

describe("input", () => {
  test("a text is the user's, instructions stand ahead", async () => {
    expect(await messagesFor({ input, instructions: "Be kind" })).toHaveProperty("messages", [
      say("system", "Be kind"),
      say("user", "Hello"),
    ]);
    for (const instructions of [null, ""]) {
      expect(await messagesFor({ input, instructions })).toHaveProperty("messages", [
        say("user", "Hello"),
      ]);
    }
  });

  test("messages, with a type and without, of text and of parts", async () => {
    const asked = await messagesFor({
      input: [
        { role: "developer", content: "Be kind" },
        { type: "message", role: "user", content: [{ type: "input_text", text: "What" }] },
        { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "…" },
        {
          ...{ type: "message", id: "msg_1", status: "completed", role: "assistant" },
          content: [
            { type: "output_text", text: "This", annotations: [] },
            { type: "refusal", refusal: ", not that" },
          ],
        },
        {
          type: null,
          role: "user",
          content: [
            { type: "text", text: "a" },
            { type: "input_text", text: "b" },
          ],
        },
        { role: "assistant", content: [] },
      ],
    });
    expect(asked).toHaveProperty("messages", [
      say("developer", "Be kind"),
      say("user", "What"),
      say("assistant", "This, not that"),
      say("user", "ab"),
      say("assistant", ""),
    ]);
  });

  test("calls of tools belong to the assistant's message beside them", async () => {
    const call = (id: string) => ({
      ...{ type: "function_call", id: `fc_${id}`, status: "completed" },
      ...{ call_id: id, name: "f", arguments: `{"a":"${id}"}` },
    });
    const output = (id: string, said: unknown) => ({
      ...{ type: "function_call_output", call_id: id, output: said },
    });
    const asked = await messagesFor({
      input: [
        { role: "user", content: "go" },
        { role: "assistant", content: "I look" },
        { type: "reasoning", id: "rs_1", summary: [] },
        call("1"),
        call("2"),
        output("1", "one"),
        output("2", [
          { type: "input_text", text: "tw" },
          { type: "input_text", text: "o" },
        ]),
        call("3"),
        { role: "assistant", content: "and on" },
        { role: "assistant", content: "and on" },
        output("3", "three"),
        { role: "assistant", content: "done" },
      ],
    });
    const called = (...ids: string[]) => ({
      toolCalls: ids.map((id) => ({ ...toolCall(0, id, "f", `{"a":"${id}"}`) })),
    });
    expect(asked).toHaveProperty("messages", [
      say("user", "go"),
      say("assistant", "I look", called("1", "2")),
      say("tool", "one", { toolCallId: "1" }),
      say("tool", "two", { toolCallId: "2" }),
      say("assistant", "and on\n\nand on", called("3")),
      say("tool", "three", { toolCallId: "3" }),
      say("assistant", "done"),
    ]);
  });

  test("images stand among texts, also in what a tool says", async () => {
    const content = [
      { type: "input_text", text: "This: " },
      { type: "input_image", image_url: png, detail: null },
      { type: "input_image", image_url: "https://example.com/a.png", detail: "low" },
    ];
    const asked = await messagesFor({
      input: [
        { role: "user", content },
        { type: "function_call", call_id: "1", name: "f", arguments: "{}" },
        { type: "function_call_output", call_id: "1", output: content },
      ],
    });
    const parts = [
      textPart("This: "),
      imagePart(png),
      imagePart("https://example.com/a.png", "low"),
    ];
    expect(asked).toMatchObject({
      messages: [{ role: "user", content: "", parts }, {}, { role: "tool", content: "", parts }],
    });
  });

  test("what a server wants to see again with a call comes back as it went", async () => {
    const extra_content = { google: { thought_signature: "abc" } };
    const call = { type: "function_call", call_id: "1", name: "f", arguments: "{}", extra_content };
    const asked = await messagesFor({ input: [call] });
    expect(asked).toMatchObject({
      messages: [{ toolCalls: [{ extraContent: JSON.stringify(extra_content) }] }],
    });
  });
});

describe("parameters", () => {
  test("those of the contract, in OpenAI's words", async () => {
    const asked = await askedFor({
      ...{ input, model: "chat-1", temperature: 1, top_p: 0.5, max_output_tokens: 5 },
      // Lintel's own.
      ...{ top_k: 3, seed: 4, stop: "end" },
      // What asks for nothing, or changes no answer.
      ...{ user: "u", metadata: { a: "b" }, store: true, service_tier: "auto", background: false },
      ...{
        prompt_cache_key: "k",
        safety_identifier: "s",
        stream_options: { include_obfuscation: false },
      },
      ...{ include: ["reasoning.encrypted_content"], truncation: "disabled", top_logprobs: 0 },
      ...{ previous_response_id: null, conversation: null, prompt: null, max_tool_calls: 3 },
      ...{
        access_programs: { cyber: "standard" },
        multi_agent: { enabled: false },
        prompt_cache_options: { mode: "explicit", prewarm: false, comparison_response_id: null },
        background_options: { completion_window: "soonest" },
        image: { context_compression: "auto" },
        reasoning: { effort: null, summary: null, context: "auto", mode: "standard" },
        text: { format: { type: "text" }, verbosity: "medium" },
      },
      // Of the other form, which this one does not have.
      ...{ messages: "none", response_format: "none", unknown: {} },
    });
    expect(asked).toMatchObject({
      ...{ model: "chat-1", temperature: 1, topP: 0.5, maxTokens: 5 },
      ...{ topK: 3, seed: 4n, stop: ["end"] },
    });
  });

  test("max_tokens is another word for max_output_tokens", async () => {
    expect(await askedFor({ input, max_tokens: 6 })).toMatchObject({ maxTokens: 6 });
    expect(await askedFor({ input, max_tokens: 6, max_output_tokens: 7 })).toMatchObject({
      maxTokens: 7,
    });
  });

  test("tools are flat", async () => {
    const parameters = { type: "object", properties: {} };
    const asked = await askedFor({
      input,
      tools: [
        { type: "function", name: "f", description: "does", parameters, strict: true },
        { type: "function", name: "g", description: null, parameters: null, strict: null },
      ],
      tool_choice: { type: "function", name: "g" },
      parallel_tool_calls: false,
    });
    expect(asked).toMatchObject({
      tools: [
        {
          function: {
            name: "f",
            description: "does",
            parameters: JSON.stringify(parameters),
            strict: true,
          },
        },
        { function: { name: "g", description: "", parameters: "", strict: undefined } },
      ],
      toolChoice: { type: "function", function: { name: "g" } },
      parallelToolCalls: false,
    });
    const tools = [{ type: "function", name: "f" }];
    expect(await askedFor({ input, tools, tool_choice: "required" })).toMatchObject({
      toolChoice: { type: "required" },
    });
  });

  test("tools in namespaces have one name", async () => {
    const inner = { type: "function", name: "weather", parameters: null };
    const asked = await askedFor({
      tools: [
        { type: "function", name: "f", namespace: "none" },
        { type: "namespace", name: "mcp__sky", description: "a", tools: [inner] },
      ],
      tool_choice: { type: "function", namespace: "mcp__sky", name: "weather" },
      input: [
        { type: "function_call", call_id: "1", namespace: "mcp__sky", name: "weather" },
        { type: "function_call", call_id: "2", namespace: null, name: "f" },
      ],
    });
    const name = "mcp__sky__weather";
    expect(asked).toMatchObject({
      tools: [{ function: { name: "f" } }, { function: { name } }],
      toolChoice: { function: { name } },
      messages: [{ toolCalls: [{ function: { name } }, { function: { name: "f" } }] }],
    });
  });

  test("items add tools, which are not told again", async () => {
    const { post, asked } = await posting();
    const f = { type: "function", name: "f" };
    const within = { type: "namespace", name: "n", tools: [f, { type: "custom", name: "c" }] };
    const added = (...tools: object[]) => ({ type: "additional_tools", role: "developer", tools });
    const items = [added(within), { role: "user", content: "Hello" }, added(f)];
    const tool_choice = { type: "function", name: "f" };
    const alone = await json(await post({ input: items, tool_choice }));
    expect(asked()).toMatchObject({
      messages: [say("user", "Hello")],
      tools: ["n__f", "n__c", "f"].map((name) => ({ function: { name } })),
    });
    expect(alone.tools).toEqual([]);
    const g = { type: "function", name: "g" };
    const beside = await json(await post({ input: items, tools: [g] }));
    expect(asked()).toMatchObject({
      tools: ["g", "n__f", "n__c", "f"].map((name) => ({ function: { name } })),
    });
    expect(beside.tools).toEqual([g]);
  });

  test("a namespace in a namespace is none", async () => {
    const backend = scripted({ chat: says("Hi") });
    const { post } = await serve(backend);
    const f = { type: "function", name: "f" };
    const inner = { type: "namespace", name: "inner", tools: [f] };
    const tools = [{ type: "namespace", name: "outer", tools: [inner, f] }];
    const { warnings } = await json(await post(path, { input, tools }));
    expect(warnings).toEqual(["tools: namespace is not supported, ignored"]);
    expect(backend.asked[0]).toMatchObject({ tools: [{ function: { name: "outer__f" } }] });
  });

  test("the answer's form is flat", async () => {
    const schema = { type: "object" };
    const format = { type: "json_schema", name: "place", description: "a", schema, strict: true };
    expect(await askedFor({ input, text: { format } })).toMatchObject({
      responseFormat: {
        type: "json_schema",
        jsonSchema: { name: "place", description: "a", schema: '{"type":"object"}', strict: true },
      },
    });
    expect(await askedFor({ input, text: { format: { type: "json_object" } } })).toMatchObject({
      responseFormat: { type: "json_object" },
    });
  });

  test("items say anew how to answer, the last of each setting", async () => {
    const { post, asked } = await posting();
    const update = (more: object) => ({ type: "configuration_update", ...more });
    const format = { type: "json_schema", name: "place", schema: { type: "object" } };
    const items = [
      { role: "user", content: "a" },
      update({ reasoning: { effort: "low" }, text: { format: { type: "json_object" } } }),
      { role: "assistant", content: "b" },
      update({ text: { format } }),
      { role: "user", content: "c" },
      update({ reasoning: { effort: "high" }, text: null }),
    ];
    const reasoning = { effort: "minimal", summary: "auto" };
    const answer = await json(await post({ input: items, reasoning, text: {} }));
    expect(asked()).toMatchObject({
      messages: [say("user", "a"), say("assistant", "b"), say("user", "c")],
      reasoningEffort: "high",
      responseFormat: { type: "json_schema", jsonSchema: { name: "place" } },
    });
    expect(answer).toMatchObject({
      reasoning: { effort: "high", summary: "auto" },
      text: { format },
    });
  });

  test("what can't be honoured is dropped, and said", async () => {
    const { post } = await serveChat(says("Hi"));
    const more = {
      reasoning: { context: "current_turn", mode: "pro", max_tokens: 5 },
      text: { verbosity: "high" },
      tools: [
        { type: "web_search" },
        { type: "namespace", name: "n", tools: [{ type: "mcp", server_label: "c" }] },
        { type: "namespace", name: "n" },
        { type: "web_search" },
        { type: "function", name: "f", async: true },
      ],
      input: [
        {
          role: "user",
          content: [
            { type: "input_image", image_url: png, detail: "original" },
            { type: "input_file", file_data: "data:text/plain;base64,YQ==", detail: "high" },
          ],
        },
      ],
      prompt_cache_options: { comparison_response_id: "resp_1" },
      background_options: { completion_window: "soonest", continuation_id: "c" },
      image: { context_compression: "enabled" },
      include: ["message.output_text.logprobs"],
      truncation: "auto",
      top_logprobs: 2,
      context_management: [{ type: "compaction" }],
      access_programs: { cyber: "daybreak_blue" },
      multi_agent: { enabled: true },
    };
    const lines = [
      /^background_options: /,
      /^image: /,
      /^include: /,
      /^truncation: /,
      /^top_logprobs: /,
      /^context_management: /,
      /^access_programs: /,
      /^multi_agent: /,
      /^input: the detail original of images is not supported, high in its place$/,
      /^input: the detail of files /,
      /^tools: web_search is/,
      /^tools: mcp is/,
      /^tools: namespace is/,
      /^tools: async is/,
      /^reasoning\.context: /,
      /^reasoning\.mode: /,
      /^reasoning\.max_tokens: /,
      /^text\.verbosity: /,
      /^prompt_cache_options\.comparison_response_id: /,
    ].map((pattern) => expect.stringMatching(pattern));
    const whole = await post(path, more);
    const header = whole.headers.get("x-lintel-warnings");
    const { warnings, tools } = await json(whole);
    expect(warnings).toEqual(lines);
    expect(header).toBe(warnings.join("; "));
    expect(tools).toEqual([more.tools[1], more.tools[4]]);
    const stream = await post(path, { ...more, stream: true });
    expect(stream.headers.get("x-lintel-warnings")).toBe(header);
    await stream.text();
  });

  const refused = [
    ["background", { background: true }, /only false/],
    ["previous_response_id", { previous_response_id: "resp_1" }, /nothing is kept here/],
    ["conversation", { conversation: "conv_1" }, /nothing is kept here/],
    ["conversation", { conversation: { id: "conv_1" } }, /nothing is kept here/],
    ["prompt", { prompt: { id: "pmpt_1" } }, /no prompts are kept/],
    ["moderation", { moderation: { model: "m" } }, /nothing of the kind/],
    [
      "prompt_cache_options.prewarm",
      { prompt_cache_options: { mode: "implicit", prewarm: true } },
      /an answer each time/,
    ],
    [
      "input[0].content[0]",
      { input: [{ role: "user", content: [{ type: "constructor" }] }] },
      /constructor is not supported/,
    ],
    ["tool_choice", { tool_choice: { type: "web_search" } }, /only functions/],
    ["tool_choice", { tool_choice: { type: "mcp", server_label: "c" } }, /only functions/],
    [
      "input[1]",
      {
        input: [
          { role: "user", content: "a" },
          { type: "item_reference", id: "msg_1" },
        ],
      },
      /send the item itself/,
    ],
    ["input[0]", { input: [{ type: "web_search_call", id: "ws_1" }] }, /type web_search_call/],
    [
      "input[0].content[1]",
      {
        input: [
          { role: "user", content: [{ type: "input_text", text: "a" }, { type: "input_image" }] },
        ],
      },
      /image without an image_url is not supported/,
    ],
    [
      "input[0].output[0]",
      { input: [{ type: "function_call_output", call_id: "1", output: [{ type: "input_file" }] }] },
      /a file without file_data or a file_url is not supported/,
    ],
  ] as const;

  test.each(refused)("400 unsupported_parameter: %s %j", async (param, more, why) => {
    const { post } = await serveChat(says("Hi"));
    const response = await post(path, { input, ...more });
    expect(response.status).toBe(400);
    const { error } = await json(response);
    expect(error).toMatchObject({ code: "unsupported_parameter", param });
    expect(error.message).toMatch(why);
    expect(error.message.startsWith(`${param}: `)).toBe(true);
  });
});

describe("faults", () => {
  const call = { type: "function_call", call_id: "1", name: "f", arguments: "{}" };
  const user = { role: "user", content: "a" };
  const reasoning = { type: "reasoning", id: "rs_1" };
  const f = { type: "function", name: "f" };
  const search = { type: "web_search" };
  const within = { type: "namespace", name: "n" };
  const update = (more: object) => ({ type: "configuration_update", ...more });

  test.each([
    ["input", { model: "chat-1" }],
    ["input", { input: null, instructions: "Be kind", messages: [user] }],
    ["input", { input: 5 }],
    ["input", { input: [] }],
    ["input[0]", { input: ["a"] }],
    ["input[0].type", { input: [{ type: 5 }] }],
    ["input[1].tools", { input: [user, { type: "additional_tools" }] }],
    ["tools", { input: [user, { type: "additional_tools", tools: [f] }], tools: 5 }],
    [
      "input[1].tools[0].tools[1].name",
      {
        input: [
          user,
          { type: "additional_tools", tools: [{ ...within, tools: [f, { type: "function" }] }] },
        ],
      },
    ],
    ["input[1].text", { input: [user, { type: "configuration_update", text: 5 }] }],
    ["input[1].reasoning.effort", { input: [user, update({ reasoning: { effort: "huge" } })] }],
    ["input[1].text.format.type", { input: [user, update({ text: { format: { type: "xml" } } })] }],
    ["input[0].role", { input: [{ content: "a" }] }],
    ["input[0].content[0]", { input: [{ role: "user", content: [5] }] }],
    ["input[0].content", { input: [{ role: "user", content: 5 }] }],
    ["input[0].content[0].text", { input: [{ role: "user", content: [{ type: "input_text" }] }] }],
    [
      "input[0].content[0].text",
      { input: [{ role: "user", content: [{ type: "input_text", text: 5 }] }] },
    ],
    [
      "input[0].content[0].image_url",
      { input: [{ role: "user", content: [{ type: "input_image", image_url: 5 }] }] },
    ],
    [
      "input[0].content[0].image_url",
      { input: [{ role: "user", content: [{ type: "input_image", image_url: "x" }] }] },
    ],
    [
      "input[0].content[0].detail",
      {
        input: [
          { role: "user", content: [{ type: "input_image", image_url: png, detail: "all" }] },
        ],
      },
    ],
    ["instructions", { input, instructions: ["a"] }],
    [
      "input[2].content",
      { instructions: "a", input: [user, reasoning, { role: "user", content: 5 }] },
    ],
    ["input[2].name", { input: [user, call, { ...call, name: 5 }] }],
    ["input[2].arguments", { input: [reasoning, call, { ...call, arguments: {} }] }],
    ["input[0].call_id", { input: [{ ...call, call_id: 5 }] }],
    ["input[0].extra_content", { input: [{ ...call, extra_content: 5 }] }],
    [
      "input[1].output",
      { input: [call, { type: "function_call_output", call_id: "1", output: 5 }] },
    ],
    [
      "input[1].call_id",
      { input: [call, { type: "function_call_output", call_id: 5, output: "" }] },
    ],
    [
      "input[0].content",
      {
        input: [
          { role: "assistant", content: { toString: 1 } },
          ...[call, { role: "assistant", content: "a" }],
        ],
      },
    ],
    ["instructions", { input, instructions: 5 }],
    ["max_output_tokens", { input, max_output_tokens: 0 }],
    ["max_output_tokens", { input, max_output_tokens: "5" }],
    ["max_tokens", { input, max_tokens: 0 }],
    ["temperature", { input, temperature: 9 }],
    ["stream", { input, stream: "yes" }],
    ["tools", { input, tools: 5 }],
    ["tools[0]", { input, tools: ["f"] }],
    ["tools[2].name", { input, tools: [search, f, { type: "function", name: 5 }] }],
    ["tools[1].parameters", { input, tools: [search, { ...f, parameters: "{" }] }],
    [
      "tools[1].tools[1].name",
      { input, tools: [search, { ...within, tools: [search, { ...f, name: 5 }] }] },
    ],
    ["tools[0].type", { input, tools: [{ type: 5, name: "f" }] }],
    ["tool_choice", { input, tool_choice: "required" }],
    ["tool_choice.type", { input, tool_choice: "never" }],
    ["tool_choice.name", { input, tools: [f], tool_choice: { type: "function", name: "g" } }],
    ["tool_choice.name", { input, tools: [f], tool_choice: { type: "function" } }],
    ["text", { input, text: "plain" }],
    ["text.format", { input, text: { format: "text" } }],
    ["text.format.type", { input, text: { format: { type: "grammar" } } }],
    ["text.format.name", { input, text: { format: { type: "json_schema", schema: {} } } }],
    [
      "text.format.schema",
      { input, text: { format: { type: "json_schema", name: "a", schema: "[" } } },
    ],
    ["metadata", { input, metadata: "a" }],
    ["metadata", { input, metadata: { a: 5 } }],
  ])("422 by the client's name of the field: %s %j", async (param, body) => {
    const { post } = await serveChat(says("Hi"));
    for (const stream of ["stream" in body ? body.stream : true, false]) {
      const response = await post(path, param === "stream" ? body : { ...body, stream });
      expect(response.status).toBe(422);
      const { error } = await json(response);
      expect(error.param).toBe(param);
      expect(error.message).toContain(`${param}: `);
    }
  });

  test("of a content it is said that it may have parts, of others not", async () => {
    const { post } = await serveChat(says("Hi"));
    const messageOf = async (body: object) => (await json(await post(path, body))).error.message;
    expect(await messageOf({ input: [{ role: "user", content: 5 }] })).toBe(
      "input[0].content: must be a string, or an array of parts",
    );
    expect(await messageOf({ input, instructions: 5 })).toBe("instructions: must be a string");
    expect(await messageOf({})).toBe("input: is required");
  });

  test("what is not looked at is named by its place at the client", async () => {
    const { post } = await serveChat(says("Hi"));
    const king = { role: "king", content: "" };
    const items = [reasoning, ...Array(12).fill(king)];
    const { error } = await json(await post(path, { input: items }));
    expect(error.message).toContain("input[8].role: ");
    expect(error.message).toContain("input: the items from 9 on were not checked");
  });

  test("tools that are not looked at are named by their place, too", async () => {
    const { post } = await serveChat(says("Hi"));
    const wrong = { ...f, name: 5 };
    const tools = [search, { ...within, tools: Array(9).fill(wrong) }, f];
    const { error } = await json(await post(path, { input, tools }));
    expect(error.message).toContain("tools[1].tools[7].name: ");
    expect(error.message).toContain("tools: the items from 1 on were not checked");
  });

  test("too many tools are not looked at", async () => {
    const { post } = await serveChat(says("Hi"));
    const many = Array(10_001).fill({});
    for (const tools of [many, [{ ...within, tools: many }]]) {
      const response = await post(path, { input, tools });
      expect((await json(response)).error.message).toBe(
        "tools: number of items must be at most 10000",
      );
    }
  });

  test("too many items are not looked at", async () => {
    const { post } = await serveChat(says("Hi"));
    for (const item of [{}, reasoning]) {
      const response = await post(path, { input: Array(10_001).fill(item) });
      expect((await json(response)).error.message).toBe(
        "input: number of items must be at most 10000",
      );
    }
  });

  test("what is refused is told once every field is well formed", async () => {
    const { post } = await serveChat(says("Hi"));
    const body = { input, background: true };
    expect((await post(path, { ...body, temperature: 9 })).status).toBe(422);
    expect((await post(path, body)).status).toBe(400);
  });

  test("what a model does not support is refused by the client's name", async () => {
    const { post } = await serve(
      scripted({ chat: says("Hi") }, [chatModel("chat-1", { supports: [] })]),
    );
    const format = { type: "json_object" };
    const response = await post(path, { input, text: { format } });
    expect(response.status).toBe(400);
    const { error } = await json(response);
    expect(error).toMatchObject({ code: "unsupported_parameter", param: "text.format" });
    expect(error.message).toMatch(/^text\.format: /);
  });

  test("nested too deeply to be repeated", async () => {
    const { post } = await serveChat(says("Hi"));
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    for (const body of [
      `{"input":"a","tools":[{"type":"function","name":"f","parameters":${deep}}]}`,
      `{"input":"a","metadata":${deep}}`,
    ]) {
      expect((await post(path, body)).status).toBe(422);
    }
  });

  test("a key that stands twice", async () => {
    const { post } = await serveChat(says("Hi"));
    const twice = (text: string) => post(path, `{"input":"a",${text}}`);
    for (const text of [
      '"stream":true,"stream":false',
      '"text":{"format":{"type":"text","type":"json_object"}}',
      '"tools":[{"type":"function","name":"f","name":"g"}]',
      '"user":"a","user":"b"',
    ]) {
      const response = await twice(text);
      expect(response.status).toBe(400);
      expect((await json(response)).error.code).toBe("invalid_json");
    }
    for (const name of ["store", "messages", "response_format"]) {
      expect((await twice(`"${name}":"a","${name}":"b"`)).status).toBe(200);
    }
  });

  test("a token is needed, before anything is read", async () => {
    const { post } = await serveChat(says("Hi"));
    const response = await post(path, "{", { authorization: "" });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
  });
});

describe("what was kept elsewhere", () => {
  test.each([
    ["GET", "/v1/responses/resp_1"],
    ["DELETE", "/v1/responses/resp_1"],
    ["GET", "/v1/responses/resp_1/input_items?limit=5"],
    ["POST", "/v1/responses/resp_1/cancel"],
    ["POST", "/v1/responses/compact"],
  ])("%s %s is a 404 that says that nothing is", async (method, at) => {
    const { url } = await serveChat(says("Hi"));
    const response = await fetch(url + at, { method, headers: { authorization: "Bearer me" } });
    expect(response.status).toBe(404);
    const { error } = await json(response);
    expect(error).toMatchObject({ code: "not_found" });
    expect(error.message).toMatch(/^nothing is kept here/);
  });

  test.each([
    ["GET", path],
    ["GET", `${path}/input_tokens`],
    ["DELETE", `${path}/input_tokens`],
    ["PUT", `${path}/input_tokens`],
  ])("another method of a path that there is: %s %s", async (method, at) => {
    const { url } = await serveChat(says("Hi"));
    const response = await fetch(url + at, { method, headers: { authorization: "Bearer me" } });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
  });
});
