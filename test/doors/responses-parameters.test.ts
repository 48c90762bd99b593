/** `POST /v1/responses`: what reaches a backend of the parameters. */
import { describe, expect, test } from "vitest";
import { say } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";
import { askedFor, path, posting } from "./responses-request.js";
import { json, serve, serveChat } from "./serve.js";

const input = "Hello";
const png = "data:image/png;base64,iVBORw0KGgo=";

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

  test("how tokens are told, and how much is said, in OpenAI's words", async () => {
    const include = ["reasoning.encrypted_content", "message.output_text.logprobs"];
    const asked = { include, top_logprobs: 2, text: { verbosity: "low" } };
    expect(await askedFor({ input, ...asked, frequency_penalty: 0.5 })).toMatchObject({
      ...{ logprobs: true, topLogprobs: 2, verbosity: "low", frequencyPenalty: 0.5 },
    });
    expect(await askedFor({ input, include: "message.output_text.logprobs" })).toMatchObject({
      ...{ logprobs: true, topLogprobs: 0, verbosity: "" },
    });
    const own = { logprobs: true, verbosity: "high", include: ["reasoning.encrypted_content"] };
    expect(await askedFor({ input, ...own })).toMatchObject({ logprobs: true, verbosity: "high" });
    const { post } = await serveChat(says("Hi"));
    expect((await json(await post(path, { input, ...asked }))).text).toEqual({
      ...{ format: { type: "text" }, verbosity: "low" },
    });
  });

  test.each([
    ["top_logprobs", { top_logprobs: 2 }],
    ["text.verbosity", { text: { verbosity: "loud" } }],
    ["text.verbosity", { text: { verbosity: 5 } }],
    ["verbosity", { verbosity: "loud" }],
  ])("422 by the client's name of the field: %s of %j", async (param, more) => {
    const { post } = await serveChat(says("Hi"));
    const response = await post(path, { input, ...more });
    expect(response.status).toBe(422);
    expect((await json(response)).error).toMatchObject({ param });
  });

  test.each([
    ["include[1]", { include: ["reasoning.encrypted_content", "message.output_text.logprobs"] }],
    ["include", { include: "message.output_text.logprobs" }],
    ["logprobs", { logprobs: true }],
  ])("a model without logprobs refuses %s", async (param, more) => {
    const { post } = await serve(
      scripted({ chat: says("Hi") }, [chatModel("m", { supports: [] })]),
    );
    const response = await post(path, { input, ...more });
    expect(response.status).toBe(400);
    const { error } = await json(response);
    expect(error).toMatchObject({ code: "unsupported_parameter", param });
  });

  test("a model that can't be told how much to say is asked without, and that is said", async () => {
    const { post } = await serve(
      scripted({ chat: says("Hi") }, [chatModel("m", { supports: [] })]),
    );
    const said = async (verbosity: string) =>
      (await json(await post(path, { input, text: { verbosity } }))).warnings ?? [];
    expect(await said("low")).toEqual(["text.verbosity: not supported by this model, ignored"]);
    expect(await said("medium")).toEqual([]);
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
      include: ["file_search_call.results"],
      truncation: "auto",
      context_management: [{ type: "compaction" }],
      access_programs: { cyber: "daybreak_blue" },
      multi_agent: { enabled: true },
    };
    const lines = [
      /^background_options: /,
      /^image: /,
      /^include: /,
      /^truncation: /,
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
