/** Settings of requests of Anthropic's Messages API, and what becomes of them. */
import { describe, expect, test } from "vitest";
import { imagePart, textPart } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";
import { ask, asked, hello, path, text } from "./messages-request.js";
import { json, serve } from "./serve.js";

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
      for (const tool_choice of [{ type }, type]) {
        const { request } = await asked(hello({ tools: [weather], tool_choice }));
        expect(request.toolChoice).toMatchObject({ type: ours, function: undefined });
        expect(request.parallelToolCalls).toBeUndefined();
      }
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
    const other = { type: "json_schema", schema: { type: "array" } };
    const both = hello({ output_config: { format }, output_format: other });
    expect(await asked(both)).toEqual(older);
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
      service_tier: "standard_only",
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
      "service_tier: not supported, ignored",
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
    const more = {
      speed: "standard",
      service_tier: "auto",
      diagnostics: null,
      billing_policy,
      safeguards: [],
    };
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
