/** Guards as an operator has them: a whole gateway, its doors, and a reload. */

import { expect, test } from "vitest";
import { deciding, guardedGateway, secret } from "./guarded-gateway.js";

test("a prompt is blocked on every path of JSON, with the client's name of the field", async () => {
  const { chat, post } = await guardedGateway(
    "guards: [{ name: g, type: pattern, find: [email], action: block }]",
  );
  const refused = await chat(`I am ${secret}`);
  expect(refused.status).toBe(400);
  expect(JSON.parse(refused.text).error).toEqual({
    message: 'messages[0].content: was blocked by the guard "g"',
    type: "invalid_request_error",
    param: "messages[0].content",
    code: "content_blocked",
  });
  const input = { model: "m", max_tokens: 9, messages: [{ role: "user", content: secret }] };
  const others = {
    "/llm": { model: "m", messages: [{ role: "user", content: secret }], stream: true },
    "/v1/messages": input,
    "/v1/responses": { model: "m", input: secret },
    "/v1beta/models/m:generateContent": { contents: [{ parts: [{ text: secret }] }] },
  };
  for (const [path, body] of Object.entries(others)) {
    const { status, text } = await post(path, body);
    expect([path, status, text.includes(secret)]).toEqual([path, 400, false]);
    expect(text).toContain("was blocked by the guard");
  }
  const parts = [{ type: "text", text: secret }];
  const inParts = await post("/v1/chat/completions", {
    model: "m",
    messages: [{ role: "user", content: parts }],
  });
  expect(JSON.parse(inParts.text).error).toMatchObject({
    message: 'messages[0].content[0].text: was blocked by the guard "g"',
    param: "messages[0].content[0].text",
  });
  const names = {
    "/v1/messages": "messages[0].content",
    "/v1/responses": "input",
    "/v1beta/models/m:generateContent": "contents[0].parts",
  };
  for (const [path, name] of Object.entries(names)) {
    const { text } = await post(path, others[path as keyof typeof others]);
    expect(JSON.parse(text).error.message).toBe(`${name}: was blocked by the guard "g"`);
  }
});

test("models are listed whatever guards look at", async () => {
  const { url } = await guardedGateway(
    "guards: [{ name: g, type: pattern, find: [email], look_at: [prompts, answers] }]",
  );
  const listed = await fetch(`${url}/v1/models`, { headers: { authorization: "Bearer me" } });
  expect(await listed.json()).toMatchObject({ data: [{ id: "m" }] });
});

test("answers are masked, whole and streamed, and a reload takes guards away", async () => {
  const { chat, write, reload, backends } = await guardedGateway(
    "guards: [{ name: g, type: pattern, find: [email], look_at: [answers] }]",
  );
  const said = `Hello, I am ${secret} .`;
  const whole = await chat(said);
  expect(JSON.parse(whole.text).choices[0].message.content).toContain("I am [email] .");
  const streamed = await chat(said, { stream: true });
  expect(streamed.text).toContain("[email]");
  expect(streamed.text).not.toContain("example.com");
  expect(streamed.text).toContain('"finish_reason":"stop"');
  write(backends);
  await reload();
  expect((await chat(said)).text).toContain(secret);
});

test("a server is asked about what is new alone, on every path of JSON", async () => {
  const asked: unknown[] = [];
  const port = await deciding(({ texts = [] }) => {
    asked.push(texts.map(({ text }) => text));
    return [200, { action: "allow" }];
  });
  const { post } = await guardedGateway(
    `guards: [{ name: g, type: webhook, url: "http://127.0.0.1:${port}", messages: last_turn }]`,
  );
  const [of, said] = [
    { role: "user", content: "old" },
    { role: "assistant", content: "said" },
  ];
  const messages = [of, said, { role: "user", content: "new" }];
  for (const [path, body] of Object.entries({
    "/llm": { model: "m", messages },
    "/v1/chat/completions": {
      model: "m",
      messages: [{ role: "system", content: "Be" }, ...messages],
    },
    "/v1/responses": { model: "m", instructions: "Be", input: messages },
    "/v1/messages": { model: "m", system: "Be", max_tokens: 9, messages },
    "/v1beta/models/m:generateContent": {
      contents: messages.map(({ role, content }) => ({
        role: role === "user" ? "user" : "model",
        parts: [{ text: content }],
      })),
    },
  })) {
    expect([path, (await post(path, body)).status]).toEqual([path, 200]);
    expect(asked.splice(0)).toEqual([["new"]]);
  }
});

const png = "data:image/png;base64,AA==";

/** A user who shows an image, as clients of each path say it, and what they call it. */
const shown: readonly (readonly [path: string, body: object, field: string])[] = [
  ...["/llm", "/v1/chat/completions"].map(
    (path) =>
      [
        path,
        {
          model: "m",
          messages: [
            {
              role: "user",
              content: [
                { type: "text", text: "Who?" },
                { type: "image_url", image_url: { url: png } },
              ],
            },
          ],
        },
        "messages[0].content[1].image_url.url",
      ] as const,
  ),
  [
    "/v1/responses",
    { model: "m", input: [{ role: "user", content: [{ type: "input_image", image_url: png }] }] },
    "input[0].content[0].image_url",
  ],
  [
    "/v1/messages",
    {
      model: "m",
      max_tokens: 9,
      messages: [
        {
          role: "user",
          content: [
            {
              type: "image",
              source: { type: "base64", media_type: "image/png", data: "AA==" },
            },
          ],
        },
      ],
    },
    "messages[0].content[0].source",
  ],
  [
    "/v1beta/models/m:generateContent",
    { contents: [{ parts: [{ inlineData: { mimeType: "image/png", data: "AA==" } }] }] },
    "contents[0].parts[0].inlineData",
  ],
];

test.each(shown)(
  "an image that a guard blocks, or can't look at, has its name on %s",
  async (path, body, field) => {
    let answer: [status: number, body: object] = [200, {}];
    const port = await deciding(({ input: [first] = [] }) =>
      typeof first === "string" ? [200, { results: [{ flagged: false }] }] : answer,
    );
    const { post } = await guardedGateway(
      `guards: [{ name: g, type: moderation, url: "http://127.0.0.1:${port}", model: x, images: true }]`,
    );
    const messages: unknown[] = [];
    for (answer of [
      [200, { results: [{ flagged: true }] }],
      [400, {}],
      [500, {}],
    ] as (typeof answer)[]) {
      const { status, text } = await post(path, body);
      messages.push([status, JSON.parse(text).error.message]);
    }
    expect(messages).toEqual([
      [400, `${field}: was blocked by the guard "g"`],
      [400, `${field}: the guard "g" can't look at it: its server refuses it`],
      [503, `${field}: the guard "g" can't look at it now`],
    ]);
  },
);

test("a stream that a server of the operator's blocks ends as a filtered one", async () => {
  const port = await deciding(({ texts: [first] = [] }) => [
    200,
    { action: first?.text.includes("bad") ? "block" : "allow" },
  ]);
  const { chat } = await guardedGateway(
    `guards: [{ name: g, type: webhook, url: "http://127.0.0.1:${port}", look_at: [answers] }]`,
  );
  const { status, text } = await chat(`${"good ".repeat(120)}bad`, { stream: true });
  expect(status).toBe(200);
  expect(text).toContain("good good");
  expect(text).not.toContain("bad");
  expect(text).toContain('"finish_reason":"content_filter"');
  expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
  expect((await chat("bad", { stream: true })).status).toBe(400);
});
