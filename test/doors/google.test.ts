/** Answers of Google's Gemini API. */
import { describe, expect, test } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { chatModel, imageModel } from "../support/models.js";
import { gate } from "../support/routing.js";
import {
  breaksAfter,
  callsTools,
  piece,
  says,
  scripted,
  thinks,
  thought,
} from "../support/scripted.js";
import { generateEvents, partsOf, textOf } from "./generate-events.js";
import { codeIn, json, serve } from "./serve.js";

const hello = (more: object = {}) => ({ contents: [{ parts: [{ text: "Hello" }] }], ...more });
/** Of events ahead of the last one. */
const uncounted = { promptTokenCount: 0, totalTokenCount: 0 };
const thoughtful = { generationConfig: { thinkingConfig: { includeThoughts: true } } };

type Chat = Parameters<typeof scripted>[0]["chat"];

const at = (method: string, model = "chat-1") => `/v1beta/models/${model}:${method}`;

async function whole(chat: Chat, more: object = {}) {
  const server = await serve(scripted({ chat }));
  return json(await server.post(at("generateContent"), hello(more)));
}

async function streamed(chat: Chat, more: object = {}) {
  const server = await serve(scripted({ chat }));
  return generateEvents(await server.post(at("streamGenerateContent?alt=sse"), hello(more)));
}

describe("a text", () => {
  const stamp = {
    modelVersion: "chat-1",
    responseId: expect.stringMatching(/^chatcmpl-[\w-]{24}$/),
  };
  const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 2, totalTokenCount: 9 };
  const candidates = (text: string, finishReason?: string) => [
    {
      content: { role: "model", parts: [{ text }] },
      ...(finishReason && { finishReason }),
      index: 0,
    },
  ];

  test("whole", async () => {
    expect(await whole(says("Hel", '"lo'))).toEqual({
      candidates: candidates('Hel"lo', "STOP"),
      usageMetadata,
      ...stamp,
    });
  });

  test("in a stream", async () => {
    const events = await streamed(says("Hel", '"lö'));
    expect(events).toEqual([
      { candidates: candidates("Hel"), usageMetadata: uncounted, ...stamp },
      { candidates: candidates('"lö'), usageMetadata: uncounted, ...stamp },
      { candidates: candidates("", "STOP"), usageMetadata, ...stamp },
    ]);
    expect(new Set(events.map(({ responseId }) => responseId)).size).toBe(1);
  });

  test("of a stream that is no stream of events is a list of it alone", async () => {
    const server = await serve(scripted({ chat: says("Hel", "lo") }));
    const answer = await server.post(at("streamGenerateContent"), hello());
    expect(await json(answer)).toEqual([
      { candidates: candidates("Hello", "STOP"), usageMetadata, ...stamp },
    ]);
  });

  test("that is empty is one all the same: clients look for it", async () => {
    expect(partsOf(await whole(says()))).toEqual([{ text: "" }]);
    expect(partsOf(...(await streamed(says())))).toEqual([{ text: "" }]);
  });

  test.each([
    ["length", "MAX_TOKENS"],
    ["content_filter", "SAFETY"],
    ["stop", "STOP"],
  ])("ends with a reason: %s", async (reason, theirs) => {
    const chat = async function* () {
      yield [piece("Hi", reason, [1, 1])];
    };
    expect((await whole(chat)).candidates[0].finishReason).toBe(theirs);
    expect((await streamed(chat)).at(-1).candidates[0].finishReason).toBe(theirs);
  });

  test("has warnings and estimates beside it", async () => {
    const chat = async function* () {
      yield [{ ...piece("Hi", "stop"), warnings: ["so it is"] }];
    };
    const said = {
      usage_estimated: true,
      warnings: ["tools: googleSearch is not supported, ignored", "so it is"],
    };
    const more = { tools: [{ googleSearch: {} }] };
    expect(await whole(chat, more)).toMatchObject(said);
    expect((await streamed(chat, more)).at(-1)).toMatchObject(said);
  });
});

describe("thoughts", () => {
  const details = [{ type: "reasoning.text", text: "Hm.", signature: "s", format: "f", index: 0 }];
  const thinking = thinks(
    [thought("H"), thought("m."), thought("", JSON.stringify(details))],
    "42",
  );
  const counted = {
    ...{ promptTokenCount: 7, candidatesTokenCount: 1, totalTokenCount: 11 },
    ...{ cachedContentTokenCount: 4, thoughtsTokenCount: 3 },
  };

  test("are not told to who does not ask for them", async () => {
    expect(partsOf(await whole(thinking))).toEqual([{ text: "42" }]);
    expect(textOf(partsOf(...(await streamed(thinking))), true)).toBe("");
  });

  test("are told apart, with a signature that brings back what the server wants to see again", async () => {
    const answer = await whole(thinking, thoughtful);
    expect(partsOf(answer)).toEqual([
      { text: "Hm.", thought: true, thoughtSignature: expect.any(String) },
      { text: "42" },
    ]);
    expect(answer.usageMetadata).toEqual(counted);
    const events = await streamed(thinking, thoughtful);
    const parts = partsOf(...events);
    expect([textOf(parts, true), textOf(parts)]).toEqual(["Hm.", "42"]);
    expect(events.at(-1).usageMetadata).toEqual(counted);
    for (const said of [partsOf(answer), parts]) {
      const backend = scripted({ chat: says("Hi") });
      const server = await serve(backend);
      const contents = [
        { parts: [{ text: "a" }] },
        // As clients keep a stream: each piece a content of its own.
        ...said.map((part) => ({ role: "model", parts: [part] })),
        { parts: [{ text: "b" }] },
      ];
      await server.post(at("generateContent"), { contents });
      expect(backend.asked[0]).toMatchObject({
        messages: [
          {},
          {
            ...{ role: "assistant", content: "42", reasoningContent: "Hm." },
            reasoningDetails: JSON.stringify(details),
          },
          {},
        ],
      });
    }
  });
});

describe("calls of functions", () => {
  const extra = JSON.stringify({ google: { thought_signature: "sig" } });
  const other = JSON.stringify({ vendor: { keep: 1 } });
  const calling = callsTools(
    [toolCall(0, "a", "weather", '{"city":', extra)],
    [toolCall(0, "", "", '"Rome"}'), toolCall(1, "b", "now", "", other)],
    [toolCall(2, "c", "raw", "not JSON")],
  );
  const parts = [
    { functionCall: { id: "a", name: "weather", args: { city: "Rome" } }, thoughtSignature: "sig" },
    { functionCall: { id: "b", name: "now", args: {} }, thoughtSignature: expect.any(String) },
    { functionCall: { id: "c", name: "raw", args: { rawInvalidInput: "not JSON" } } },
  ];

  test.each(["generateContent", "streamGenerateContent?alt=sse"])(
    "have arguments as they were written, in one line: %s",
    async (method) => {
      const written = '{"id": 12345678901234567890,\n"b": 1.0}';
      const chat = callsTools([toolCall(0, "a", "f", written)]);
      const server = await serve(scripted({ chat }));
      const answer = await server.post(at(method), hello());
      expect(await answer.text()).toContain('"args":{"id": 12345678901234567890, "b": 1.0}');
    },
  );

  test("are whole, in a stream, too, and come back with what their server gave", async () => {
    const answer = await whole(calling);
    expect(answer.candidates[0]).toMatchObject({ content: { parts }, finishReason: "STOP" });
    expect(partsOf(answer)).toEqual(parts);
    const events = await streamed(calling);
    expect(events).toHaveLength(1);
    expect(partsOf(...events)).toEqual(parts);
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const contents = [
      { parts: [{ text: "a" }] },
      { role: "model", parts: partsOf(answer) },
      { parts: [{ functionResponse: { name: "now", response: { output: "ten" } } }] },
    ];
    await server.post(at("generateContent"), { contents });
    expect(backend.asked[0]).toMatchObject({
      messages: [
        {},
        {
          toolCalls: [
            { id: "a", extraContent: extra },
            { id: "b", extraContent: other },
            { id: "c" },
          ],
        },
        { role: "tool", toolCallId: "b", content: "ten" },
      ],
    });
  });
});

describe("failures", () => {
  test("have Google's form, with the details that RPC callers get", async () => {
    const chat = async function* () {
      yield* [];
      throw new LintelError("rate_limited", "too much", { retryAfter: 7, retry: "never" });
    };
    const server = await serve(scripted({ chat }));
    for (const method of ["generateContent", "streamGenerateContent?alt=sse"]) {
      const answer = await server.post(at(method), hello());
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "7"]);
      const type = (name: string) => `type.googleapis.com/google.rpc.${name}`;
      expect(await json(answer)).toEqual({
        error: {
          ...{ code: 429, message: "too much", status: "RESOURCE_EXHAUSTED" },
          details: [
            { "@type": type("ErrorInfo"), reason: "rate_limited", domain: "lintel", metadata: {} },
            { "@type": type("RetryInfo"), retryDelay: "7s" },
            { "@type": type("RequestInfo"), requestId: answer.headers.get("x-request-id") },
          ],
        },
      });
    }
  });

  test.each([
    ["upstream_failed", 502, "INTERNAL"],
    // Connect has another spelling.
    ["cancelled", 499, "CANCELLED"],
  ] as const)("in mid-stream are an event: %s", async (word, code, status) => {
    const events = await streamed(breaksAfter(new LintelError(word, "it broke"), "Hi"));
    expect(partsOf(events[0])).toEqual([{ text: "Hi" }]);
    expect(events.at(-1).error).toMatchObject({ code, status });
    expect(events).toHaveLength(2);
  });

  test.each([
    ["invalid_value", "the input token count exceeds the maximum number of tokens allowed: "],
    // It quotes its caller.
    ["model_not_found", ""],
  ] as const)(
    "of a conversation that is too long say so in Google's words: %s",
    async (code, begin) => {
      const said = "messages: 9 tokens (context_length_exceeded)";
      const chat = async function* () {
        yield* [];
        throw new LintelError(code, said);
      };
      const server = await serve(scripted({ chat }));
      for (const method of ["generateContent", "streamGenerateContent?alt=sse"]) {
        const { error } = await json(await server.post(at(method), hello()));
        expect([error.message, codeIn({ error })]).toEqual([begin + said, code]);
      }
    },
  );

  test.each([
    ["/v1beta/models/chat-1:predict", 404],
    ["/v1/models/chat-1:embedContent", 404],
    ["/v1beta/models/chat-1", 404],
    ["/v1beta/models/", 404],
    ["/v1beta/models", 405],
  ])("POST %s is told what there is: %i", async (path, status) => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const answer = await server.post(path, hello());
    expect(answer.status).toBe(status);
    const { error } = await json(answer);
    expect(error.code).toBe(status);
    if (status === 404) expect(error.message).toContain(":streamGenerateContent");
  });
});

test.each([
  ["/v1/models/chat-1:generateContent"],
  ["/v1beta/models/chat-1:streamGenerateContent"],
  ["/v1beta/models/none:countTokens"],
])("GET %s, which takes POST alone, is a 405", async (path) => {
  const server = await serve(scripted({ chat: says("Hi") }));
  const answer = await server.get(path, { "x-goog-api-key": "me" });
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
});

test("previews are asked for at a path of their own, and a cache of no name is none", async () => {
  const server = await serve(scripted({ chat: says("Hi") }));
  const path = at("generateContent").replace("v1beta", "v1alpha");
  expect((await server.post(path, hello({ cachedContent: "" }))).status).toBe(200);
});

test("silence is events of no text: Google's SDK for Python takes a comment for JSON, and Genkit reads nothing behind a blank line", async () => {
  const held = gate();
  const chat = async function* (call: Parameters<NonNullable<Chat>>[0]) {
    yield [piece("Hi")];
    await held.handle(call)[Symbol.asyncIterator]().next();
    yield [piece(" there", "stop", [1, 2])];
  };
  const server = await serve(scripted({ chat }), { doors: { keepAliveMs: 5 } });
  const answer = await server.post(at("streamGenerateContent?alt=sse"), hello());
  let text = "";
  for await (const bytes of answer.body ?? []) {
    text += Buffer.from(bytes).toString();
    if (text.split('"text":""').length > 2) held.open();
  }
  const events = await generateEvents(new Response(text));
  expect(textOf(partsOf(...events))).toBe("Hi there");
  const silent = {
    candidates: [{ content: { role: "model", parts: [{ text: "" }] }, index: 0 }],
    usageMetadata: uncounted,
  };
  expect(events.slice(1, 3)).toEqual([silent, silent]);
});

test("names of models may have slashes and colons", async () => {
  const id = "org/llama3.1:8b";
  const server = await serve(scripted({ chat: says("Hi") }, [chatModel(id)]));
  for (const name of [id, encodeURIComponent(id)]) {
    const answer = await server.post(at("generateContent", name), hello());
    expect([answer.status, (await json(answer)).modelVersion]).toEqual([200, id]);
  }
  const answer = await server.post(at("generateContent", "none:7b"), hello());
  expect([answer.status, codeIn(await json(answer))]).toEqual([404, "model_not_found"]);
});

describe("who calls", () => {
  test.each<[Record<string, string>, number]>([
    [{ "x-goog-api-key": "me" }, 200],
    [{ authorization: "Bearer me" }, 200],
    [{}, 401],
  ])("may say so by %j: %i", async (headers, status) => {
    const { url } = await serve(scripted({ chat: says("Hi") }));
    const answer = await fetch(url + at("generateContent"), {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(hello()),
    });
    expect(answer.status).toBe(status);
    const list = await fetch(`${url}/v1beta/models`, { headers: headers });
    expect(list.status).toBe(status);
  });
});

describe("models", () => {
  const models = [
    chatModel("org/chat", { maxTokens: 99, contextLength: 4096 }),
    imageModel("image-1"),
  ];
  const chat = {
    ...{ name: "models/org/chat", baseModelId: "org/chat", version: "", displayName: "org/chat" },
    inputTokenLimit: 4096,
    outputTokenLimit: 99,
    supportedGenerationMethods: ["generateContent", "streamGenerateContent", "countTokens"],
  };
  const image = {
    ...{ name: "models/image-1", baseModelId: "image-1", version: "", displayName: "image-1" },
    supportedGenerationMethods: [],
  };

  test.each<[string, Record<string, string>]>([
    ["/v1beta/models", {}],
    ["/v1alpha/models", {}],
    ["/v1/models", { "x-goog-api-key": "me" }],
    ["/v1/models", { "x-goog-api-client": "google-genai-sdk/3" }],
  ])("are listed at %s, where the client is Google's: %j", async (path, headers) => {
    const server = await serve(scripted({ chat: says("Hi") }, models));
    expect(await json(await server.get(path, headers))).toEqual({ models: [image, chat] });
    expect(await json(await server.get(`${path}/org/chat`, headers))).toEqual(chat);
    const none = await server.get(`${path}/none`, headers);
    expect(none.status).toBe(404);
    expect((await json(none)).error.message).toBe('there is no model "none"');
  });
});
