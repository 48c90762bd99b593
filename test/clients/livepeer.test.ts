/** The SDK that people use against this very contract, unmodified. */
import { createHash } from "node:crypto";
import { Livepeer } from "@livepeer/ai";
import { HTTPError, HTTPValidationError, SDKError } from "@livepeer/ai/models/errors/index.js";
import { describe, expect, test } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { eventsOf, type Setting, serve } from "../doors/serve.js";
import { breaksAfter, paints, says, scripted } from "../support/scripted.js";

const hash = `sha256:${createHash("sha256").update("good").digest("hex")}`;
const tokens: Setting = { core: { auth: { mode: "token", tokens: [{ name: "t", hash }] } } };
const messages = [{ role: "user", content: "Hello" }];

async function sdk(token = "good", chat = says("Hi", " there")) {
  const { url } = await serve(scripted({ chat, streamTextToImage: paints() }), tokens);
  return new Livepeer({ serverURL: url, httpBearer: token });
}

/** What a promise was rejected with. */
const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => {
      throw new Error("it succeeded");
    },
    (error: unknown) => error,
  );

describe("@livepeer/ai", () => {
  test("llm", async () => {
    const { llmResponse } = await (await sdk()).generate.llm({ messages });
    expect(llmResponse).toMatchObject({
      model: "chat-1",
      choices: [{ finishReason: "stop", message: { role: "assistant", content: "Hi there" } }],
      usage: { totalTokens: 9 },
    });
  });

  test("textToImage", async () => {
    const { imageResponse } = await (await sdk()).generate.textToImage({
      modelId: "",
      prompt: "a cat",
      seed: 5,
    });
    expect(imageResponse?.images).toEqual([
      { url: expect.stringMatching(/^http/), seed: 5, nsfw: false },
    ]);
  });

  test("a field out of bounds", async () => {
    const { generate } = await sdk();
    const error = await failure(generate.llm({ messages, maxTokens: 0, temperature: 9 }));
    expect(error).toBeInstanceOf(HTTPValidationError);
    expect((error as HTTPValidationError).detail).toEqual([
      { loc: ["body", "temperature"], msg: expect.any(String), type: "value_error" },
      { loc: ["body", "max_tokens"], msg: expect.any(String), type: "value_error" },
    ]);
  });

  test("a value that can't be served", async () => {
    const { generate } = await sdk();
    const error = await failure(generate.textToImage({ modelId: "", prompt: " " }));
    expect(error).toBeInstanceOf(HTTPError);
    expect((error as HTTPError).detail?.msg).toMatch(/prompt/);
  });

  test("a wrong token", async () => {
    const { generate } = await sdk("bad");
    for (const call of [
      generate.llm({ messages }),
      generate.textToImage({ modelId: "", prompt: "x" }),
    ]) {
      const error = await failure(call);
      expect(error).toBeInstanceOf(HTTPError);
      expect((error as HTTPError).detail?.msg).toMatch(/token/);
    }
  });

  test("a model server that fails", async () => {
    const broken = breaksAfter(new LintelError("upstream_failed", "it broke"));
    const error = await failure((await sdk("good", broken)).generate.llm({ messages }));
    expect(String(error)).toMatch(/it broke/);
  });

  test("a stream: this SDK knows none and hands out the body as it came", async () => {
    const error = await failure((await sdk()).generate.llm({ messages, stream: true }));
    expect(error).toBeInstanceOf(SDKError);
    expect((error as SDKError).statusCode).toBe(200);
    const events = eventsOf((error as SDKError).body);
    expect(events).toHaveLength(4);
    expect(events.at(-1)).toBe("[DONE]");
  });
});
