/** How likely tokens were, from OpenAI's Responses API behind the AI SDK, and from another Lintel. */
import { describe, expect, it, test } from "vitest";
import { json, serve as serveLintel } from "../doors/serve.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { gateway } from "../support/gateway.js";
import { hello } from "../support/routing.js";
import { scripted, thought } from "../support/scripted.js";
import { saysTokens, token, withTokens } from "../support/tokens.js";
import { bodies } from "./ai-sdk-calls.js";
import { aiSdkBackend } from "./ai-sdk-subject.js";
import { both, hi, others, told } from "./logprobs-server.js";
import { opened, serve } from "./serve.js";
import type { Script } from "./upstream.js";

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
