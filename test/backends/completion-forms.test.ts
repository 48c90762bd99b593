/** Completions that come in the other form than was asked for, or labelled as the other. */
import { describe, expect, it } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Backend } from "../../src/core/backend.js";
import { chatted, thrownBy } from "./ai-sdk-calls.js";
import { compatibleKinds } from "./ai-sdk-subject.js";
import { chatRequest, chunk } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import { cut, type Script } from "./upstream.js";

async function completed(backend: Backend): Promise<LLMResponse | undefined> {
  let last: LLMResponse | undefined;
  for await (const step of backend.handlers.complete?.(callOf("complete", chatRequest())) ?? []) {
    last = step.at(-1) ?? last;
  }
  return last;
}

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const pieces = [
  event(chunk({ role: "assistant", content: "Hel" })),
  event(chunk({ content: "lö" })),
  event({ ...chunk({}, "length"), usage }),
  "data: [DONE]\n\n",
];
const choice = { index: 0, message: { role: "assistant", content: "Hellö" } };
const whole = JSON.stringify({
  ...{ id: "c", object: "chat.completion", created: 1, model: "m", usage },
  choices: [{ ...choice, finish_reason: "length" }],
});

/** Answers with a text of some type, cut into pieces of some bytes. */
const answering =
  (type: string | undefined, text: string, size: number): Script =>
  async (exchange) => {
    await exchange.head(200, type ? { "content-type": type } : {});
    for (const piece of cut(Buffer.from(text), size)) await exchange.chunk(piece);
    await exchange.end();
  };

const types = ["application/json", "text/plain; charset=utf-8", undefined];

describe.each(compatibleKinds)("by %s", (_, backendAt) => {
  const at = async (script: Script) => opened(backendAt((await serve(script)).url));

  describe.each(types)("labelled %s", (type) => {
    it.each([
      ["a stream", pieces.join("")],
      ["a stream that begins with a comment", `: hello\n\n${pieces.join("")}`],
      ["a whole answer", whole],
      ["a whole answer after white space", ` \r\n\n  ${whole}`],
    ])("%s is read as what it is, wherever it is cut", async (_, text) => {
      for (const size of [1, 7, text.length]) {
        const { last, ...read } = await chatted(await at(answering(type, text, size)));
        expect(read.text).toBe("Hellö");
        expect(last?.choices[0]?.finishReason).toBe("length");
        expect(last?.usage).toMatchObject({ promptTokens: 3, completionTokens: 2 });
      }
    });

    it("a stream comes as it is made", async () => {
      let go = () => {};
      const seen = new Promise<void>((resolve) => {
        go = resolve;
      });
      const backend = await at(async (exchange) => {
        await exchange.head(200, type ? { "content-type": type } : {});
        await exchange.events(...pieces.slice(0, 2));
        await seen;
        await exchange.events(...pieces.slice(2));
        await exchange.end();
      });
      let text = "";
      for await (const step of backend.handlers.chat?.(callOf("chat", chatRequest())) ?? []) {
        for (const { choices } of step) text += choices[0]?.delta?.content ?? "";
        if (text === "Hellö") go();
      }
      expect(text).toBe("Hellö");
    });

    it("an error is told as it is", async () => {
      const error = JSON.stringify({ error: { message: "too long", code: 400 } });
      const backend = await at(answering(type, error, 5));
      expect(await thrownBy(chatted(backend))).toMatchObject({
        code: "invalid_value",
        message: "the model server refused the request: too long",
      });
    });
  });

  it.each(["<html>We are back soon.</html>", "hi", ""])("is none: %j", async (text) => {
    for (const type of types) {
      const backend = await at(answering(type, text, 64));
      expect(await thrownBy(chatted(backend))).toMatchObject({ code: "upstream_failed" });
    }
  });

  it.each([...types, "text/event-stream"])(
    "a stream labelled %s, where none was asked for, is put together",
    async (type) => {
      const last = await completed(await at(answering(type, pieces.join(""), 7)));
      expect(last?.choices).toMatchObject([
        { finishReason: "length", message: { role: "assistant", content: "Hellö" } },
      ]);
      expect(last?.choices[0]?.delta).toBeUndefined();
      expect(last?.usage).toMatchObject({ promptTokens: 3, completionTokens: 2 });
    },
  );

  it.each([
    ["has no end", pieces[0] as string, "upstream_failed"],
    ["fails", event({ error: { message: "slow down", code: 429 } }), "rate_limited"],
  ])("such a stream that %s is a failure", async (_, text, code) => {
    const backend = await at(answering("text/event-stream", text, 64));
    expect(await thrownBy(completed(backend))).toMatchObject({ code });
  });

  it("a whole answer without a message is what its reason says", async () => {
    for (const [finish_reason, reason] of [
      ["content_filter: SAFETY", "content_filter"],
      ["MODEL_ARMOR", "content_filter"],
      ["IMAGE_PROHIBITED_CONTENT", "content_filter"],
      ["RECITATION", "content_filter"],
      ["length", "length"],
    ]) {
      const choices = [{ index: 0, finish_reason }];
      const backend = await at((e) =>
        e.sendJson(200, { id: "c", created: 1, model: "m", choices }),
      );
      expect((await completed(backend))?.choices).toMatchObject([
        { finishReason: reason, message: { content: "" } },
      ]);
    }
  });
});
