/** Answers to a provider of the AI SDK that break off: who has seen nothing of one has another one. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { gate, never, outcome, start } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { aiSdkBackend, anthropicAt, compatibleAt, openaiAt } from "./ai-sdk-subject.js";
import { backendFor, echo } from "./openai-subject.js";
import { type Script, Upstream } from "./upstream.js";

const googleAt = (url: string) =>
  aiSdkBackend({
    package: "@ai-sdk/google",
    options: { apiKey: "AIza-secret", baseURL: `${url}/v1beta` },
    models: [{ id: "m" }],
  });

/** An event that says nothing yet, and one with a word, in the form of each vendor. */
const vendors: readonly (readonly [
  name: string,
  backendAt: (url: string) => Backend,
  silent: string | object,
  word: string | object,
])[] = [
  [
    "a server of OpenAI's form",
    compatibleAt,
    { id: "a", choices: [{ index: 0, delta: { role: "assistant", content: "" } }] },
    { id: "a", choices: [{ index: 0, delta: { content: "Hal" } }] },
  ],
  [
    "OpenAI",
    openaiAt,
    { type: "response.created", response: { id: "resp_1", created_at: 1, model: "m" } },
    { type: "response.output_text.delta", item_id: "msg_1", delta: "Hal" },
  ],
  [
    "Anthropic",
    anthropicAt,
    ": nothing yet\n\n",
    `data: ${JSON.stringify({
      type: "content_block_start",
      index: 0,
      content_block: { type: "text", text: "" },
    })}\n\ndata: ${JSON.stringify({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: "Hal" },
    })}\n\n`,
  ],
  [
    "Google",
    googleAt,
    { candidates: [{ content: { role: "model", parts: [] }, index: 0 }] },
    { candidates: [{ content: { role: "model", parts: [{ text: "Hal" }] }, index: 0 }] },
  ],
];

const hello = { messages: [{ role: "user", content: "hello" }], model: "m" };

/** A gateway before a vendor that answers so, and before another server that echoes. */
async function inFrontOf(script: Script, backendAt: (url: string) => Backend) {
  const servers = [await Upstream.start(script), await Upstream.start(echo)] as const;
  const backends = [backendAt(servers[0].url), backendFor(servers[1].url, { name: "other" })];
  onTestFinished(async () => {
    for (const part of [...backends, ...servers]) await part.close();
  });
  // One that still loads comes after all others.
  await backends[0]?.ready?.("m", never);
  return coreOf(backends);
}

describe.each(vendors)("of %s", (_, backendAt, silent, word) => {
  it("a whole answer that is cut off is had from another server", async () => {
    const cut: Script = async (exchange) => {
      const head = { "content-type": "application/json", "content-length": "100000" };
      await exchange.head(200, head);
      await exchange.raw('{"id":"a"');
      exchange.destroy();
    };
    const core = await inFrontOf(cut, backendAt);
    const { code, messages, metadata } = await outcome(core, "complete", hello);
    expect(code).toBe("ok");
    expect(messages[0]?.choices[0]?.message?.content).toBe("you said hello");
    expect(metadata.get("x-lintel-attempts")).toBe("2");
  });

  it("so is a stream that is cut off before a word", async () => {
    const cut: Script = async (exchange) => {
      await exchange.stream(silent);
      exchange.destroy();
    };
    const { code, metadata } = await outcome(await inFrontOf(cut, backendAt), "chat", hello);
    expect(code).toBe("ok");
    expect(metadata.get("x-lintel-attempts")).toBe("2");
  });

  it("a stream that is cut off behind a word is told as that", async () => {
    const heard = gate();
    const cut: Script = async (exchange) => {
      await exchange.stream(word);
      await heard.opened;
      exchange.destroy();
    };
    const { messages } = start(await inFrontOf(cut, backendAt), "chat", hello);
    const reading = (async () => {
      for await (const _ of messages) heard.open();
    })();
    await expect(reading).rejects.toMatchObject({
      code: "upstream_failed",
      message: expect.stringContaining("the model server broke off its answer"),
    });
  });
});
