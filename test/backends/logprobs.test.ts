/** How likely tokens were, as servers of OpenAI's form tell it: asked for, read, and where they refuse to. */
import { describe, expect, it, test } from "vitest";
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../../src/core/backend.js";
import { json, serve as serveLintel } from "../doors/serve.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { gateway } from "../support/gateway.js";
import { hello } from "../support/routing.js";
import { scripted, thought } from "../support/scripted.js";
import { saysTokens, textsOf, token, tokensIn, withTokens } from "../support/tokens.js";
import { bodies } from "./ai-sdk-calls.js";
import { aiSdkBackend, compatibleKinds } from "./ai-sdk-subject.js";
import { backendFor, chunk } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import type { Script } from "./upstream.js";

const methods = ["complete", "chat"] as const;
const both = [["complete"], ["chat"]] as const;

/** A server that says "Hi!", in two pieces, with so much of each beside it, and all of it beside a whole answer. */
const tells =
  (pieces: readonly (readonly [text: string, logprobs: unknown])[], all: unknown): Script =>
  async (exchange) => {
    const content = pieces.map(([text]) => text).join("");
    const end = { finish_reason: "stop", logprobs: null };
    if (!exchange.json().stream) {
      const message = { role: "assistant", content };
      const choices = [{ index: 0, message, ...end, logprobs: all }];
      return exchange.sendJson(200, { id: "1", created: 1, model: "m", choices });
    }
    const said = (delta: object, more: object) => ({
      ...chunk({}),
      choices: [{ index: 0, delta, finish_reason: null, ...more }],
    });
    await exchange.stream(
      said({ role: "assistant", content: "" }, { logprobs: null }),
      ...pieces.map(([content, logprobs]) => said({ content }, { logprobs })),
      said({}, end),
      "data: [DONE]\n\n",
    );
    await exchange.end();
  };

const ask = async (backend: Backend, method: (typeof methods)[number], more: object = {}) => {
  const core = coreOf([backend]);
  return outcome(core, method, { ...hello, model: "m", logprobs: true, ...more });
};

/** Texts, logarithms, bytes where there are any, and others, of what was told. */
const told = (messages: readonly object[]) =>
  tokensIn(messages).map(({ token, logprob, bytes, topLogprobs }) => [
    token,
    logprob,
    bytes && [...bytes],
    topLogprobs.map((top) => [top.token, top.logprob]),
  ]);

const content = (...tokens: object[]) => ({ content: tokens, refusal: null });
const hi = { token: "Hi", logprob: -0.5, bytes: [72, 105] };
const bang = { token: "!", logprob: -1, bytes: [33] };
const others = [
  { token: "Hi", logprob: -0.5, bytes: [72, 105] },
  { token: "Ho", logprob: -2, bytes: [72, 111] },
];
const plain = [
  ["Hi", -0.5, undefined, []],
  ["!", -1, undefined, []],
];
const usual = [
  ["Hi", -0.5, [72, 105], []],
  ["!", -1, [33], []],
];

describe.each(compatibleKinds)("a server of OpenAI's form, by %s,", (_kind, backendAt) => {
  const came = async (
    method: (typeof methods)[number],
    pieces: Parameters<typeof tells>[0],
    all: unknown,
    more: object = {},
  ) => {
    const server = await serve(tells(pieces, all));
    const { code, messages, warnings } = await ask(opened(backendAt(server.url)), method, more);
    expect(code).toBe("ok");
    return { told: told(messages), warnings, body: bodies(server)[0] };
  };

  it.each([
    [
      "OpenAI",
      [content({ ...hi, top_logprobs: others }), content({ ...bang, top_logprobs: [] })],
      content({ ...hi, top_logprobs: others }, { ...bang, top_logprobs: [] }),
      [
        [
          "Hi",
          -0.5,
          [72, 105],
          [
            ["Hi", -0.5],
            ["Ho", -2],
          ],
        ],
        usual[1],
      ],
    ],
    [
      "Text Generation Inference, which tells no bytes",
      [
        { content: [{ token: "Hi", logprob: -0.5, top_logprobs: [] }] },
        { content: [{ token: "!", logprob: -1, top_logprobs: [] }] },
      ],
      {
        content: [
          { token: "Hi", logprob: -0.5, top_logprobs: [] },
          { token: "!", logprob: -1, top_logprobs: null },
        ],
      },
      plain,
    ],
    [
      "llama.cpp, with ids, and numbers of C",
      [
        { content: [{ id: 1, ...hi, top_logprobs: [] }] },
        { content: [{ id: 2, ...bang, logprob: -3.4028234663852886e38, top_logprobs: [] }] },
      ],
      {
        content: [
          { id: 1, ...hi, top_logprobs: [] },
          { id: 2, ...bang, logprob: -3.4028234663852886e38, top_logprobs: [] },
        ],
      },
      [usual[0], ["!", -9999, [33], []]],
    ],
    [
      "one that has no number for what can't be",
      [content({ ...hi, logprob: null, bytes: null }), content({ ...bang, logprob: -9999.0 })],
      content({ ...hi, logprob: null, bytes: null }, { ...bang, logprob: -9999.0 }),
      [
        ["Hi", -9999, undefined, []],
        ["!", -9999, [33], []],
      ],
    ],
    [
      "what stands in place of an answer",
      [
        { content: null, refusal: [hi] },
        { content: null, refusal: [bang] },
      ],
      { content: null, refusal: [hi, bang] },
      usual,
    ],
    [
      "Fireworks' older form",
      [
        { tokens: ["Hi"], token_logprobs: [-0.5], top_logprobs: [{ Ho: -2, Hi: -0.5 }] },
        { tokens: ["!"], token_logprobs: [-1], top_logprobs: [null] },
      ],
      {
        ...{ tokens: ["Hi", "!"], token_logprobs: [-0.5, -1] },
        top_logprobs: [{ Ho: -2, Hi: -0.5 }, null],
      },
      [
        [
          "Hi",
          -0.5,
          undefined,
          [
            ["Hi", -0.5],
            ["Ho", -2],
          ],
        ],
        plain[1],
      ],
    ],
    [
      "Together, whose streams have a number",
      [-0.5, -1],
      { tokens: ["Hi", "!"], token_ids: [1, 2], token_logprobs: [-0.5, -1] },
      plain,
    ],
    ["a list of its own", [[hi], [bang]], [hi, bang], usual],
    [
      "what is none of it",
      [content({ token: 5 }, hi), content({ ...bang, bytes: [33, 256] })],
      content({ token: 5 }, hi, { ...bang, bytes: [33, 256] }),
      [usual[0], plain[1]],
    ],
  ] as const)("as %s has it", async (_, [first, second], all, expected) => {
    for (const method of methods) {
      // The provider for any server of the form reads what is no list itself.
      const pieces = [
        ["Hi", first],
        ["!", second],
      ] as const;
      const { told, warnings } = await came(method, pieces, all, { topLogprobs: 2 });
      expect(told, method).toEqual(expected);
      expect(warnings, method).toEqual([]);
    }
  });

  it("is asked for as many as the caller wants, and for none where nobody asks", async () => {
    const pieces = [["Hi", content(hi)]] as const;
    const { body } = await came("complete", pieces, content(hi), { topLogprobs: 3 });
    expect(body).toMatchObject({ logprobs: true, top_logprobs: 3 });
    const alone = await came("chat", pieces, content(hi));
    expect(alone.body).toMatchObject({ logprobs: true });
    // llama.cpp takes none for none at all.
    expect(alone.body).not.toHaveProperty("top_logprobs");
    const not = await came("chat", pieces, content(hi), { logprobs: false });
    expect(not.body).not.toHaveProperty("logprobs");
    expect(not.told).toEqual([]);
  });

  it("that tells none says nothing, and the caller hears so", async () => {
    for (const method of methods) {
      const { told, warnings } = await came(method, [["Hi", null]], null);
      expect([told, warnings]).toEqual([[], ["logprobs: the model server told none"]]);
    }
  });

  it("may say the same again and again, in chunks that are alike", async () => {
    const pieces = Array.from({ length: 5 }, () => ["Hi", content(hi)] as const);
    const { told } = await came("chat", pieces, null);
    expect(told).toEqual(Array(5).fill(usual[0]));
  });

  it("may leave thoughts in its text: tokens are told as they came", async () => {
    const texts = ["<think>", "Hm", "</think>", "\n\n", "Hi"];
    const one = (token: string) => ({ token, logprob: -1, bytes: [...Buffer.from(token)] });
    const pieces = texts.map((text) => [text, content(one(text))] as const);
    const all = content(...texts.map(one));
    for (const method of methods) {
      const server = await serve(tells(pieces, all));
      const backend = opened(backendAt(server.url));
      const seen = await ask(backend, method);
      expect(textsOf(seen.messages), method).toEqual(texts);
      const unseen = await ask(backend, method, { includeReasoning: false });
      expect(textsOf(unseen.messages), method).toEqual(["Hi"]);
    }
  });

  const supports = (backend: Backend) => (backend.models()[0] as Model).supports;

  it.each([
    ["Groq", 400, "`logprobs` is not supported with this model"],
    ["OpenAI", 400, "Unsupported parameter: 'logprobs' is not supported with this model."],
    ["OpenAI, with another status", 403, "You are not allowed to request logprobs from this model"],
    ["Google", 400, "Logprobs is not enabled for models/gemini-2.5-pro"],
    [
      "vLLM on Gaudi",
      400,
      "Gaudi doesn't support logprobs. Please remove 'logprobs'/'top_logprobs' from your request to receive a response.",
    ],
    ["DeepSeek", 400, "deepseek-reasoner does not support the parameter `logprobs`"],
  ])(
    "that refuses it (%s) does so once, and is left out where the operator says so",
    async (_, status, message) => {
      const refusing: Script = (exchange) =>
        "logprobs" in exchange.json()
          ? exchange.sendJson(status, { error: { message, type: "invalid_request_error" } })
          : tells([["Hi", null]], null)(exchange);
      const server = await serve(refusing);
      const backend = opened(backendAt(server.url));
      const { code, error } = await ask(backend, "chat");
      expect([code, error?.param]).toEqual(["unsupported_parameter", "logprobs"]);
      expect(supports(backend)).not.toContain("logprobs");
      expect((await ask(backend, "chat")).code).toBe("unsupported_parameter");
      expect(server.requests).toHaveLength(1);
      const other = opened(backendAt(server.url));
      const core = coreOf([other], { models: [{ name: "m", unsupported: "ignore" }] });
      for (const time of ["first", "second"]) {
        const { code, warnings } = await outcome(core, "chat", {
          ...hello,
          model: "m",
          logprobs: true,
        });
        expect([code, warnings], time).toEqual([
          "ok",
          ["logprobs: not supported by this model, ignored"],
        ]);
      }
      // Once refused, and twice left out.
      expect(server.requests).toHaveLength(4);
    },
  );

  it("that tells no others is asked for the tokens alone", async () => {
    const refusing: Script = (exchange) =>
      "top_logprobs" in exchange.json()
        ? exchange.sendJson(400, { error: { message: "property 'top_logprobs' is unsupported" } })
        : tells([["Hi", content(hi)]], content(hi))(exchange);
    const server = await serve(refusing);
    const backend = opened(backendAt(server.url));
    const { messages, warnings } = await ask(backend, "chat", { topLogprobs: 2 });
    expect([textsOf(messages), warnings]).toEqual([
      ["Hi"],
      ["top_logprobs: not supported by this model, ignored"],
    ]);
    expect(supports(backend)).toContain("logprobs");
    expect(supports(backend)).not.toContain("top_logprobs");
  });
});

test.each(both)(
  "numbers that JSON does not have are read, and texts with their names stay: %s",
  async (method) => {
    const text = 'NaN, "Infinity"';
    const server = await serve(async (exchange) => {
      const logprobs = { content: [{ token: text, logprob: "@@", bytes: null, top_logprobs: [] }] };
      const choice = { index: 0, finish_reason: "stop", logprobs };
      const whole = { id: "1", created: 1, model: "m" };
      const python = (value: object) => JSON.stringify(value).replace('"@@"', "-Infinity");
      const said = { role: "assistant", content: text };
      if (!exchange.json().stream) {
        const answer = python({ ...whole, choices: [{ ...choice, message: said }] });
        return exchange.send(200, { "content-type": "application/json" }, answer);
      }
      const event = python({ ...whole, choices: [{ ...choice, delta: said }] });
      await exchange.stream(`data: ${event}\n\n`, "data: [DONE]\n\n");
      await exchange.end();
    });
    const { code, messages } = await ask(opened(backendFor(server.url)), method);
    expect([code, told(messages)]).toEqual(["ok", [[text, -9999, undefined, []]]]);
  },
);

test("llama.cpp streams them beside no tools: it is asked for a whole answer, and streamed", async () => {
  const server = await serve((exchange) => {
    const { stream, tools, logprobs } = exchange.json();
    return stream && tools && logprobs
      ? exchange.sendJson(400, {
          error: {
            code: 400,
            message: "logprobs is not supported with tools + stream",
            type: "invalid_request_error",
          },
        })
      : tells([["Hi", content(hi)]], content(hi))(exchange);
  });
  const backend = opened(backendFor(server.url));
  const tools = [{ type: "function", function: { name: "f" } }];
  for (const time of ["first", "second"]) {
    const { code, messages, warnings } = await ask(backend, "chat", { tools });
    expect([code, textsOf(messages), warnings], time).toEqual(["ok", ["Hi"], []]);
  }
  await ask(backend, "chat");
  await ask(backend, "chat", { tools, logprobs: false });
  expect(bodies(server).map(({ stream }) => stream)).toEqual([true, false, false, true, true]);
  expect(backend.models()[0]?.supports).toContain("logprobs");
});

test("Together is told a number, LM Studio nothing", async () => {
  const server = await serve(tells([["Hi", -0.5]], null));
  const at = (dialect: string) => opened(backendFor(server.url, { dialect }));
  const { messages } = await ask(at("together"), "chat", { topLogprobs: 4 });
  expect(textsOf(messages)).toEqual(["Hi"]);
  await ask(at("together"), "chat");
  expect(bodies(server)).toMatchObject([{ logprobs: 4 }, { logprobs: 1 }]);
  expect(bodies(server).some((body) => "top_logprobs" in body)).toBe(false);
  expect(at("lmstudio").models()[0]?.supports).not.toContain("logprobs");
});

test("DeepSeek's of thoughts are those of thoughts", async () => {
  const server = await serve(async (exchange) => {
    const said = (delta: object, logprobs: object | null, finish_reason: string | null = null) => ({
      ...chunk({}),
      choices: [{ index: 0, delta, logprobs, finish_reason }],
    });
    await exchange.stream(
      said(
        { reasoning_content: "Hm" },
        { content: null, reasoning_content: [{ ...hi, token: "Hm", bytes: [72, 109] }] },
      ),
      said({ content: "Hi" }, { content: [hi], reasoning_content: null }),
      said({}, null, "stop"),
      "data: [DONE]\n\n",
    );
    await exchange.end();
  });
  const backend = opened(backendFor(server.url));
  expect(textsOf((await ask(backend, "chat")).messages)).toEqual(["Hm", "Hi"]);
  const { messages } = await ask(backend, "chat", { includeReasoning: false });
  expect(textsOf(messages)).toEqual(["Hi"]);
});

describe("the AI SDK's provider of OpenAI", () => {
  const at = (url: string, id = "gpt-4o-mini") =>
    opened(
      aiSdkBackend({
        package: "@ai-sdk/openai",
        options: { apiKey: "secret", baseURL: url },
        models: [{ id, task: "chat" }],
      }),
    );
  const parts = [
    {
      type: "output_text",
      text: "Hi",
      annotations: [],
      logprobs: [{ ...hi, top_logprobs: others }],
    },
  ];
  const item = { id: "msg_1", type: "message", role: "assistant", status: "completed" };
  const response = {
    ...{
      id: "resp_1",
      object: "response",
      created_at: 1,
      model: "gpt-4o-mini",
      status: "completed",
    },
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const responses: Script = async (exchange) => {
    const output = [{ ...item, content: parts }];
    if (!exchange.json().stream) return exchange.sendJson(200, { ...response, output });
    const at = { item_id: "msg_1", output_index: 0, content_index: 0 };
    const logprobs = parts[0]?.logprobs;
    const events = [
      { type: "response.created", response },
      { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
      { type: "response.output_text.delta", ...at, delta: "Hi", logprobs },
      { type: "response.output_text.done", ...at, text: "Hi", logprobs },
      { type: "response.output_item.done", output_index: 0, item: { ...item, content: parts } },
      { type: "response.completed", response: { ...response, output } },
    ];
    await exchange.stream(...events.map((it) => `data: ${JSON.stringify(it)}\n\n`));
    await exchange.end();
  };

  it.each(both)("asks the Responses API, and tells what that tells once: %s", async (method) => {
    const server = await serve(responses);
    const core = coreOf([at(server.url)]);
    const asked = { ...hello, model: "gpt-4o-mini", logprobs: true, topLogprobs: 2 };
    const { messages, warnings } = await outcome(core, method, asked);
    expect(told(messages)).toEqual([
      [
        "Hi",
        -0.5,
        [72, 105],
        [
          ["Hi", -0.5],
          ["Ho", -2],
        ],
      ],
    ]);
    expect(warnings).toEqual([]);
    expect(bodies(server)).toMatchObject([
      { top_logprobs: 2, include: expect.arrayContaining(["message.output_text.logprobs"]) },
    ]);
  });

  it("leaves them out of what it asks models that think: they support none", async () => {
    const server = await serve(responses);
    const backend = at(server.url, "gpt-6");
    const core = coreOf([backend]);
    const { code, error } = await outcome(core, "chat", {
      ...hello,
      model: "gpt-6",
      logprobs: true,
    });
    expect([code, error?.param]).toEqual(["unsupported_parameter", "logprobs"]);
    expect(backend.models()[0]?.supports).not.toContain("logprobs");
  });
});

test.each([
  ["node", (at: string) => `type: node, token: me, address: "${at}"`],
  [
    "rest",
    (at: string) => `type: rest, token: me, url: "${at}", models: [{ id: chat-1, task: chat }]`,
  ],
  ["openai", (at: string) => `type: openai, api_key: me, url: "${at}", models: [chat-1]`],
])("another Lintel, by %s, hands them on", async (_, entry) => {
  const backend = scripted({
    chat: async function* (call) {
      yield [withTokens(thought("Hm"), token("Hm"))];
      yield* saysTokens("Hi", " 😀")(call);
    },
  });
  const behind = await serveLintel(backend);
  const { url } = await gateway(`backends: [{ name: a, ${entry(behind.url)} }]\n`);
  const post = (more: object) =>
    fetch(`${url}/llm`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer me" },
      body: JSON.stringify({
        model: "chat-1",
        messages: hello.messages,
        logprobs: true,
        top_logprobs: 1,
        ...more,
      }),
    });
  const { choices } = await json(await post({}));
  const expected = ["Hm", "Hi", " 😀"].map((text) => ({
    ...{ token: text, logprob: -0.5, bytes: [...Buffer.from(text)], top_logprobs: [] },
  }));
  expect(choices[0].logprobs.content).toEqual(expected);
  const streamed = await (await post({ stream: true })).text();
  for (const one of expected) expect(streamed).toContain(JSON.stringify([one]));
  expect(backend.asked).toMatchObject(Array(2).fill({ logprobs: true, topLogprobs: 1 }));
});
