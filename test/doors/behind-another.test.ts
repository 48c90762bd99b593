/** A gateway behind another one: whichever way is between them, callers and model servers see what they would without. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { gateway } from "../support/gateway.js";

const usage = {
  ...{ prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
  prompt_tokens_details: { cached_tokens: 5 },
  completion_tokens_details: { reasoning_tokens: 3 },
};
const picture = "data:image/png;base64,iVBORw0KGgo=";
const call = (id: string, name: string, args: string, more: object = {}) => ({
  ...{ id, type: "function", function: { name, arguments: args } },
  ...more,
});
const signed = { extra_content: { google: { thought_signature: "abc" } } };
const thought = { type: "reasoning.text", text: "hm", signature: "sig", index: 0, format: "x" };
const likely = (token: string) => ({
  content: [
    {
      ...{ token, logprob: -0.25, bytes: [...Buffer.from(token)] },
      top_logprobs: [{ token: "z", logprob: -3, bytes: [122] }],
    },
  ],
});

/** What a model says: the steps of a stream, as deltas and what stands beside them, and how it ends. */
type Said = readonly [
  steps: readonly [delta: object, beside?: object][],
  end: string,
  more?: object,
];
const says: Readonly<Record<string, Said>> = {
  words: [[[{ content: "Hel" }], [{ content: "lo" }]], "stop"],
  thoughts: [
    [[{ reasoning_content: "h" }], [{ reasoning_content: "m" }], [{ content: "A" }]],
    "stop",
  ],
  details: [[[{ reasoning: "hm", reasoning_details: [thought] }], [{ content: "A" }]], "stop"],
  calls: [
    [
      [{ content: "let me" }],
      [{ tool_calls: [{ index: 0, ...call("c1", "f", '{"a":', signed) }] }],
      [{ tool_calls: [{ index: 1, ...call("c2", "g", '{"n":9007199254740993}') }] }],
      [{ tool_calls: [{ index: 0, function: { arguments: "1}" } }] }],
    ],
    "tool_calls",
  ],
  logprobs: [
    [
      [{ content: "a" }, { logprobs: likely("a") }],
      [{ content: "b" }, { logprobs: likely("b") }],
    ],
    "stop",
  ],
  tier: [[[{ content: "a" }]], "stop", { service_tier: "flex" }],
  refusal: [[[{ refusal: "I can" }], [{ refusal: "not" }]], "stop"],
  filter: [[[{ content: "a" }]], "content_filter"],
  length: [[[{ content: "a" }]], "length"],
  pictures: [
    [
      [{ content: "see" }],
      [{ images: [{ type: "image_url", index: 0, image_url: { url: picture }, ...signed }] }],
    ],
    "stop",
  ],
  nothing: [[], "stop"],
};

const tools = ["f", "g"].map((name) => ({
  type: "function",
  function: { name, parameters: { type: "object" } },
}));
/** How clients of each door ask a model: the path, and the body. */
const doors: readonly ((model: string) => readonly [path: string, body: object])[] = [
  (model) => ["/llm", asked(model)],
  (model) => ["/v1/chat/completions", asked(model)],
  (model) => [
    "/v1/messages",
    {
      ...{ model, max_tokens: 100, messages: [{ role: "user", content: "hi" }], stream: true },
      tools: tools.map((tool) => ({ name: tool.function.name, input_schema: { type: "object" } })),
    },
  ],
  (model) => [
    "/v1/responses",
    {
      model,
      input: "hi",
      stream: true,
      tools: tools.map((tool) => ({ type: "function", ...tool.function })),
    },
  ],
  (model) => [
    `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
  ],
];

const asked = (model: string) => ({
  ...{ model, messages: [{ role: "user", content: "hi" }], tools, stream: true },
  ...(model === "logprobs" && { logprobs: true, top_logprobs: 1 }),
  ...(model === "tier" && { service_tier: "flex" }),
  ...(model === "pictures" && { modalities: ["text", "image"] }),
});

/** Events of a stream with what a model says. */
function eventsFor(model: string): string {
  const [steps, end, more = {}] = says[model] ?? [[], "stop"];
  const chunks = [
    ...steps.map(([delta, beside]) => ({ index: 0, delta, finish_reason: null, ...beside })),
    { index: 0, delta: {}, finish_reason: end },
  ].map((choice) => ({ choices: [choice], ...more }));
  const told = [...chunks, { choices: [], usage, ...more }].map((chunk) => {
    const whole = { id: "x", object: "chat.completion.chunk", created: 1, model, ...chunk };
    return `data: ${JSON.stringify(whole)}\n\n`;
  });
  return `${told.join("")}data: [DONE]\n\n`;
}

/** A server with a model for each thing that is said. */
async function modelServer(): Promise<string> {
  const server = createServer(async (request, response) => {
    if (request.method === "GET") {
      const data = Object.keys(says).map((id) => ({ id, object: "model", owned_by: "x" }));
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ object: "list", data }));
      return;
    }
    let text = "";
    for await (const part of request) text += part;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(eventsFor(JSON.parse(text).model));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What each gateway makes up by itself: ids, and when it was. */
const own =
  /"(?:id|item_id|call_id|responseId|createTime|created|created_at|completed_at|obfuscation)":(?:"[^"]*"|\d+)/g;

/** What a gateway answers, but for that. */
async function answerOf({ url }: { readonly url: string }, path: string, body: object) {
  const response = await fetch(url + path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: "Bearer me",
      "anthropic-version": "2023-06-01",
    },
    body: JSON.stringify(body),
  });
  return [response.status, ...(await response.text()).replaceAll(own, "").split("\n\n")];
}

test("what one answers is told on every door as it would be without the other", async () => {
  const models = Object.keys(says);
  const listed = models.map((id) => `{ id: ${id}, task: chat }`).join(", ");
  const behind = await gateway(
    `backends:\n  - { type: openai, name: a, url: "${await modelServer()}" }\n`,
  );
  const inFront = [
    await gateway(
      `backends:\n  - { type: rest, name: b, url: "${behind.url}", models: [${listed}] }\n`,
    ),
    await gateway(
      `backends:\n  - { type: openai, name: c, url: "${behind.url}", api_key: me, models: [${models}] }\n`,
    ),
  ];
  for (const model of models) {
    for (const door of doors) {
      const expected = await answerOf(behind, ...door(model));
      expect(expected[0]).toBe(200);
      for (const one of inFront) expect(await answerOf(one, ...door(model))).toEqual(expected);
    }
  }
});
