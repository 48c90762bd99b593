/** How likely tokens were, as servers of OpenAI's form tell it: asked for, and read. */
import { describe, expect, it, test } from "vitest";
import { textsOf } from "../support/tokens.js";
import { bodies } from "./ai-sdk-calls.js";
import { compatibleKinds } from "./ai-sdk-subject.js";
import {
  ask,
  bang,
  both,
  content,
  hi,
  methods,
  others,
  plain,
  tells,
  told,
  usual,
} from "./logprobs-server.js";
import { backendFor, chunk } from "./openai-subject.js";
import { opened, serve } from "./serve.js";

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

  it("may tell of tokens ahead of their text, but not of any number", async () => {
    const ahead = Array.from({ length: 1500 }, () => ["", content(hi)] as const);
    const { told } = await came("chat", [...ahead, ["Hi", content(bang)]], null);
    expect(told).toHaveLength(1000);
    const some = await came("chat", [...ahead.slice(0, 3), ["Hi", content(bang)]], null);
    expect(some.told.map(([text]) => text)).toEqual(["Hi", "Hi", "Hi", "!"]);
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
