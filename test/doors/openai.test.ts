/** `POST /v1/chat/completions`. */
import { describe, expect, test } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { imagePart, say } from "../support/messages.js";
import { breaksAfter, piece, says, scripted } from "../support/scripted.js";
import { saysTokens } from "../support/tokens.js";
import { chunks, hello, json, serve, serveChat } from "./serve.js";

const completions = "/v1/chat/completions";
const generations = "/v1/images/generations";

describe("POST /v1/chat/completions", () => {
  test("a whole answer is the one of /llm", async () => {
    const server = await serveChat(says("Hi"));
    const [own, alias] = await Promise.all(
      ["/llm", completions].map(async (path) => json(await server.post(path, hello()))),
    );
    expect({ ...alias, id: "", created: 0 }).toEqual({ ...own, id: "", created: 0 });
  });

  test("a stream has OpenAI's form: role first, an empty delta last, usage only when asked", async () => {
    const server = await serveChat(says("Hi", " there"));
    const all = await chunks(await server.post(completions, hello({ stream: true })));
    expect(all.map((c) => c.choices[0])).toEqual([
      { index: 0, delta: { role: "assistant", content: "Hi" }, finish_reason: null },
      { index: 0, delta: { content: " there" }, finish_reason: null },
      { index: 0, delta: {}, finish_reason: "stop" },
    ]);
    for (const chunk of all) expect(chunk).not.toHaveProperty("usage");

    const body = hello({ stream: true, stream_options: { include_usage: true } });
    const counted = await chunks(await server.post(completions, body));
    expect(counted.map((c) => [c.choices.length, c.usage])).toEqual([
      [1, null],
      [1, null],
      [1, null],
      [0, { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 }],
    ]);
  });

  test.each([
    [{ usage: { include: true } }, true],
    [{ usage: { include: false } }, false],
    [{ usage: { include: "yes" } }, false],
    [{ usage: null }, false],
  ])("counts are told as OpenRouter's clients ask for them: %j", async (more, told) => {
    const server = await serveChat(says("Hi"));
    const all = await chunks(await server.post(completions, hello({ ...more, stream: true })));
    expect(all.some(({ usage }) => usage?.total_tokens === 8)).toBe(told);
  });

  test("a failure in mid-stream is an error alone, then [DONE]", async () => {
    const server = await serveChat(
      breaksAfter(new LintelError("upstream_failed", "it broke"), "a"),
    );
    const all = await chunks(await server.post(completions, hello({ stream: true })));
    expect(all).toHaveLength(2);
    expect(all[1]).toEqual({
      error: { message: "it broke", type: "upstream_error", param: null, code: "upstream_failed" },
    });
  });

  test("what OpenAI writes in another way reaches the backend as the contract has it", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const response = await server.post(completions, {
      model: "chat-1",
      messages: [
        { role: "developer", content: "Be kind" },
        {
          role: "user",
          content: [
            { type: "text", text: "What is " },
            { type: "text", text: "this?" },
          ],
        },
        { role: "assistant", content: null, tool_calls: [] },
        { role: "assistant", content: [{ type: "refusal", refusal: "I can't tell" }] },
        { role: "assistant", content: null, refusal: "No." },
        { role: "tool", tool_call_id: "1", content: "42" },
        { role: "function", name: "f", content: "43" },
        { role: "function", name: "f", content: [{ type: "text", text: "44" }] },
        { role: "function", name: "f", content: null },
        { role: "assistant" },
      ],
      max_completion_tokens: 5,
      stop: "end",
      seed: 3,
      n: 1,
      user: "u",
      metadata: {},
      store: false,
      frequency_penalty: 0,
      presence_penalty: 0,
      logprobs: false,
      top_logprobs: 0,
      verbosity: "medium",
      response_format: { type: "text" },
      tools: [],
      tool_choice: "auto",
      function_call: "none",
      logit_bias: {},
      modalities: ["text"],
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-lintel-warnings")).toBeNull();
    const [asked] = backend.asked;
    expect(asked).toMatchObject({ maxTokens: 5, stop: ["end"], seed: 3n });
    expect(asked).toHaveProperty(
      "messages",
      [
        { role: "developer", content: "Be kind" },
        { role: "user", content: "What is this?" },
        { role: "assistant", content: "" },
        { role: "assistant", content: "I can't tell" },
        { role: "assistant", content: "No." },
        { role: "tool", content: "42", toolCallId: "1" },
        { role: "tool", content: "43" },
        { role: "tool", content: "44" },
        { role: "tool", content: "" },
        { role: "assistant", content: "" },
      ].map(({ role, content, ...more }) => say(role, content, more)),
    );
  });

  test("how tokens are chosen and told is taken, as OpenAI's and vLLM's clients say it", async () => {
    const backend = scripted({ chat: saysTokens("Hi") });
    const { post } = await serve(backend);
    const response = await post(
      "/v1/chat/completions",
      hello({
        ...{ frequency_penalty: 0.5, presence_penalty: -0.5, logprobs: true, top_logprobs: 2 },
        ...{ verbosity: "low", min_p: 0.05, repetition_penalty: 1.1 },
        logit_bias: { "50256": -100 },
      }),
    );
    expect(response.headers.get("x-lintel-warnings")).toBeNull();
    expect(backend.asked[0]).toMatchObject({
      ...{ frequencyPenalty: 0.5, presencePenalty: -0.5, logprobs: true, topLogprobs: 2 },
      ...{ verbosity: "low", minP: 0.05, repetitionPenalty: 1.1, logitBias: { 50256: -100 } },
    });
  });

  test("what is left out gets the contract's defaults", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    await server.post(completions, hello());
    expect(backend.asked[0]).toMatchObject({ temperature: 0.7, maxTokens: 256, topP: 1 });
  });

  test("of several that are refused the first one is told", async () => {
    const { post } = await serveChat(says("Hi"));
    const part = (type: string) => ({ type });
    const messages = [{ role: "user", content: [part("video"), part("film")] }];
    for (const [param, body] of [
      ["modalities", { modalities: ["audio"], guardrails: [{}], messages }],
      ["messages[0].content[0]", { messages }],
    ] as const) {
      const { error } = await json(await post("/v1/chat/completions", { ...hello(), ...body }));
      expect(error).toMatchObject({ code: "unsupported_parameter", param });
    }
  });

  test("parameters that can't be honoured are dropped, and said", async () => {
    const server = await serveChat(says("Hi"));
    const more = {
      functions: [{ name: "f" }],
      prediction: { type: "content", content: "Hi" },
      // How a search with its defaults is asked for.
      web_search_options: {},
    };
    const whole = await server.post(completions, hello(more));
    const warned = whole.headers.get("x-lintel-warnings");
    for (const name of Object.keys(more)) expect(warned).toContain(`${name}: `);
    expect((await json(whole)).warnings).toHaveLength(3);
    const stream = await server.post(completions, hello({ ...more, stream: true }));
    expect(stream.headers.get("x-lintel-warnings")).toBe(warned);
    await stream.text();
  });

  // As GuideLLM 0.8 and AIPerf 0.13 send them, by whose numbers servers are bought.
  test.each([
    {
      path: completions,
      body: '{"model":"chat-1","stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},"max_completion_tokens":16,"ignore_eos":true,"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}',
      warned: ["ignore_eos: not supported, ignored"],
    },
    {
      path: "/v1/responses",
      body: '{"model":"chat-1","stream":true,"max_output_tokens":16,"ignore_eos":true,"min_tokens":16,"input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]}]}',
      warned: ["ignore_eos: not supported, ignored", "min_tokens: not supported, ignored"],
    },
    {
      path: completions,
      body: '{"messages":[{"role":"user","content":"Hi"}],"model":"chat-1","ignore_eos":false,"min_tokens":0}',
      warned: [],
    },
  ])(
    "load generators hear that answers have no fixed length: $path $warned",
    async ({ path, body, warned }) => {
      const { url } = await serveChat(says("Hi"));
      const headers = { authorization: "Bearer me", "content-type": "application/json" };
      const answer = await fetch(`${url}${path}`, { method: "POST", headers, body });
      await answer.text();
      expect(answer.status).toBe(200);
      const said = answer.headers.get("x-lintel-warnings");
      if (warned.length === 0) expect(said).toBeNull();
      for (const one of warned) expect(said).toContain(one);
    },
  );

  test.each(["flex", "priority"])("a tier of service is asked for: %s", async (service_tier) => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    for (const [path, body] of [
      [completions, hello({ service_tier })],
      ["/v1/responses", { input: "Hello", service_tier }],
    ] as const) {
      const answer = await server.post(path, body);
      expect([answer.status, answer.headers.get("x-lintel-warnings")]).toEqual([200, null]);
      expect(backend.asked.pop()).toMatchObject({ serviceTier: service_tier });
    }
  });

  test("tells which tier served an answer, where the model server does: whole, and in the last chunk", async () => {
    const tiered = (serviceTier?: string): Handle<"chat"> =>
      async function* () {
        yield [piece("Hi")];
        yield [{ ...piece("", "stop", [7, 1]), ...(serviceTier && { serviceTier }) }];
      };
    const told = async (serviceTier?: string) => {
      const server = await serveChat(tiered(serviceTier));
      const whole = await json(await server.post(completions, hello({ service_tier: "priority" })));
      const chunks = [];
      for (const more of [{}, { stream_options: { include_usage: true } }]) {
        const body = hello({ ...more, stream: true });
        const text = await (await server.post(completions, body)).text();
        chunks.push(...[...text.matchAll(/"service_tier":"(\w+)"/g)].map(([, tier]) => tier));
      }
      const response = await json(await server.post("/v1/responses", { input: "Hello" }));
      const events = await (
        await server.post("/v1/responses", { input: "Hello", stream: true })
      ).text();
      const completed = /"type":"response.completed".*"service_tier":"(\w+)"/.exec(events)?.[1];
      return [whole.service_tier, chunks, response.service_tier, completed];
    };
    expect(await told("default")).toEqual([
      "default",
      ["default", "default", "default"],
      "default",
      "default",
    ]);
    expect(await told()).toEqual([undefined, [], undefined, undefined]);
    // Not what is no name.
    expect(await told('"}')).toEqual([undefined, [], undefined, undefined]);
  });

  test.each([["scale"], ["fast"], [["flex"]], [{ type: "flex" }], [{ tier: "flex" }], [1]])(
    "another tier of service is dropped, and said: %j",
    async (service_tier) => {
      const server = await serveChat(says("Hi"));
      for (const [path, body] of [
        [completions, hello({ service_tier })],
        ["/v1/responses", { input: "Hello", service_tier }],
      ] as const) {
        const answer = await server.post(path, body);
        expect(answer.headers.get("x-lintel-warnings")).toBe(
          "service_tier: not supported, ignored",
        );
      }
    },
  );

  test.each(["auto", "default", "standard", "on_demand", null, ""])(
    "the ordinary tier of service asks for nothing: %s",
    async (service_tier) => {
      const server = await serveChat(says("Hi"));
      const answer = await server.post(completions, hello({ service_tier }));
      expect([answer.status, answer.headers.get("x-lintel-warnings")]).toEqual([200, null]);
    },
  );

  test("an image in its original detail is shown in the closest there is, and that is said", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const url = "data:image/png;base64,iVBORw0KGgo=";
    const shown = { type: "image_url", image_url: { url, detail: "original" } };
    const messages = [{ role: "user", content: [shown, shown] }];
    const answer = await server.post(completions, { messages });
    expect((await json(answer)).warnings).toEqual([
      "messages: the detail original of images is not supported, high in its place",
    ]);
    expect(backend.asked[0]).toMatchObject({
      messages: [{ parts: [imagePart(url, "high"), imagePart(url, "high")] }],
    });
  });

  test("calls of functions in a history, of the older form, are dropped, and said", async () => {
    const server = await serveChat(says("Hi"));
    const function_call = { name: "f", arguments: "{}" };
    const turn = { role: "assistant", content: null, function_call };
    const { messages } = hello();
    const response = await server.post(completions, hello({ messages: [...messages, turn] }));
    expect((await json(response)).warnings).toEqual([
      "messages: function_call in them is not supported, ignored",
    ]);
  });

  test.each([
    ["function_call", hello({ function_call: { name: "auto" } })],
    ["modalities", hello({ modalities: ["text", "audio"] })],
    ["moderation", hello({ moderation: { model: "omni-moderation-latest" } })],
    [
      "messages[0].content[0]",
      { messages: [{ role: "user", content: [{ type: "video_url", video_url: {} }] }] },
    ],
    [
      "messages[1].audio",
      {
        messages: [
          { role: "assistant", content: "Hi", audio: { id: "a" } },
          { role: "assistant", content: null, audio: { id: "b" } },
        ],
      },
    ],
  ])("400 unsupported_parameter: %s", async (param, body) => {
    const server = await serveChat(says("Hi"));
    const response = await server.post(completions, body);
    expect(response.status).toBe(400);
    expect((await json(response)).error).toMatchObject({ code: "unsupported_parameter", param });
  });

  test.each([{ temperature: 9 }, { temperature: "hot" }])(
    "what is refused is told once every field is well formed: %j",
    async (wrong) => {
      const { post } = await serveChat(says("Hi"));
      const refused = { ...hello(), modalities: ["audio"] };
      const field = await post("/v1/chat/completions", { ...refused, ...wrong });
      expect(field.status).toBe(422);
      expect((await json(field)).error).toMatchObject({ param: "temperature" });
      const format = await post("/v1/chat/completions", refused);
      expect((await json(format)).error).toMatchObject({ param: "modalities" });
    },
  );

  test.each([
    ["max_completion_tokens", hello({ max_completion_tokens: 0 })],
    ["max_completion_tokens", hello({ max_completion_tokens: "5" })],
    ["max_tokens", hello({ max_tokens: 0 })],
    ["stop", hello({ stop: 5 })],
    ["logprobs", hello({ logprobs: 5 })],
    ["top_logprobs", hello({ top_logprobs: 2 })],
    ["top_logprobs", hello({ top_logprobs: 2, logprobs: false })],
    ["repetition_penalty", hello({ repetition_penalty: 0 })],
    ["min_p", hello({ min_p: -0.1 })],
    ["verbosity", hello({ verbosity: "loud" })],
    ["stop[1]", hello({ stop: ["a", 5] })],
    ["messages[0].content[0]", { messages: [{ role: "user", content: [5] }] }],
    ["messages[0].content[0].type", { messages: [{ role: "user", content: [{}] }] }],
    ["messages[0].content[0].text", { messages: [{ role: "user", content: [{ type: "text" }] }] }],
    [
      "messages[0].content[1].text",
      {
        messages: [
          { role: "assistant", content: [{ type: "text", text: "" }, { type: "refusal" }] },
        ],
      },
    ],
    ["messages[0].role", { messages: [{ role: "critic", content: "x" }] }],
    ["messages[0].content", { messages: [{ role: "function", content: 5 }] }],
    ["messages[0].content[0]", { messages: [{ role: "function", content: [5] }] }],
    ["messages", { model: "chat-1" }],
  ])("422 by the client's name of the field: %s", async (param, body) => {
    const server = await serveChat(says("Hi"));
    const response = await server.post(completions, body);
    expect(response.status).toBe(422);
    const { error } = await json(response);
    expect(error.param).toBe(param);
    expect(error.message).toContain(`${param}: `);
  });

  test("422 of a content says that it may have parts", async () => {
    const server = await serveChat(says("Hi"));
    for (const wrong of [5, {}, true]) {
      const body = { messages: [{ role: "user", content: wrong }] };
      expect((await json(await server.post(completions, body))).error.message).toBe(
        "messages[0].content: must be a string, or an array of parts",
      );
    }
  });

  test("needs a token", async () => {
    const server = await serveChat(says("Hi"));
    for (const path of [completions, generations]) {
      expect((await server.post(path, "{", { authorization: "" })).status).toBe(401);
    }
    for (const path of ["/v1/models", "/v1/models/chat-1"]) {
      const response = await server.get(path, { authorization: "" });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
    }
  });
});
