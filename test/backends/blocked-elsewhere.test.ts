/** Where an operator wants that, another server is asked for what the moderation of one does not let through. */
import { describe, expect, it, onTestFinished } from "vitest";
import { outcome } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { routing, stateOf } from "../support/routing.js";
import { answering } from "./openai-failing.js";
import { gptImage } from "./openai-images-subject.js";
import { backendFor, chunk, echo } from "./openai-subject.js";
import { type Script, Upstream } from "./upstream.js";

const hello = { messages: [{ role: "user", content: "hello" }], model: "m" };

/** A gateway before servers that answer so, each of which is asked where those before it can't answer. */
async function inFrontOf(blocked: boolean, ...scripts: Script[]) {
  const servers: Upstream[] = [];
  for (const script of scripts) servers.push(await Upstream.start(script));
  const backends = servers.map(({ url }, i) =>
    backendFor(url, { name: `server${i}`, image_models: ["gpt-image-2"] }),
  );
  onTestFinished(async () => {
    for (const part of [...backends, ...servers]) await part.close();
  });
  return coreOf(backends, { routing: routing({ retry: { blocked } }) });
}

/** As Azure says it. */
const refusal = {
  error: {
    ...{ message: "The response was filtered", param: "prompt", code: "content_filter" },
    ...{ type: null, status: 400, innererror: { code: "ResponsibleAIPolicyViolation" } },
  },
};

const refused: [string, Script][] = [
  ["with a 400", answering(400, refusal)],
  ["with a 403", answering(403, { error: { message: "No.", code: "moderation_blocked" } })],
  ["in an event", (exchange) => exchange.stream(refusal)],
];

/** Ends with the reason that a filter blocked it, having said these pieces. */
const filtered =
  (...said: object[]): Script =>
  async (exchange) => {
    if (!exchange.json().stream) {
      const message = { role: "assistant", content: null, ...said[0] };
      const choices = [{ index: 0, message, finish_reason: "content_filter" }];
      return exchange.sendJson(200, { id: "a", object: "chat.completion", choices });
    }
    const pieces = said.map((delta) => chunk(delta));
    const begin = chunk({ role: "assistant", content: "" });
    await exchange.stream(begin, ...pieces, chunk({}, "content_filter"), "data: [DONE]\n\n");
    await exchange.end();
  };

const contentOf = ({ choices: [choice] }: { choices: { message?: { content: string } }[] }) =>
  choice?.message?.content;

describe("a prompt that a server's moderation refused", () => {
  it.each(refused)("is answered by another one: %s", async (_, script) => {
    const core = await inFrontOf(true, script, echo);
    const { code, metadata } = await outcome(core, "chat", hello);
    expect([code, metadata.get("x-lintel-attempts")]).toEqual(["ok", "2"]);
    expect(stateOf(core, "server0")).toMatchObject({ state: "in", attempts: 1, failures: 0 });
  });
  it.each(refused)("is the caller's to see where nobody wants that: %s", async (_, script) => {
    const { code, metadata } = await outcome(await inFrontOf(false, script, echo), "chat", hello);
    expect([code, metadata.get("x-lintel-attempts")]).toEqual(["content_blocked", "1"]);
  });
  it("for an image, too", async () => {
    const core = await inFrontOf(true, answering(400, refusal), gptImage);
    const asked = { modelId: "gpt-image-2", prompt: "a cat", width: 64, height: 64 };
    expect((await run(core, "textToImage", asked))[0]?.images).toHaveLength(1);
  });
});

describe("an answer that a filter blocked before a word", () => {
  it("is had from another server, streamed and whole", async () => {
    const core = await inFrontOf(true, filtered(), echo);
    const { code, metadata } = await outcome(core, "chat", hello);
    expect([code, metadata.get("x-lintel-attempts")]).toEqual(["ok", "2"]);
    const [whole] = await run(core, "complete", hello);
    expect(whole && contentOf(whole)).toBe("you said hello");
    expect(stateOf(core, "server0")).toMatchObject({ state: "in", attempts: 2, failures: 0 });
  });
  it("stays where nobody wants that, where a word was said, and where a thought is seen", async () => {
    const thought = { content: "", reasoning_content: "Hm." };
    const cases: [boolean, Script, object][] = [
      [false, filtered(), {}],
      [true, filtered({ content: "Well" }), {}],
      [true, filtered(thought), {}],
    ];
    for (const [blocked, script, more] of cases) {
      const core = await inFrontOf(blocked, script, echo);
      for (const method of ["chat", "complete"] as const) {
        const { messages, metadata } = await outcome(core, method, { ...hello, ...more });
        expect(messages.at(-1)?.choices[0]?.finishReason).toBe("content_filter");
        expect(metadata.get("x-lintel-attempts")).toBe("1");
      }
    }
    const core = await inFrontOf(true, filtered(thought), echo);
    const unseen = { ...hello, includeReasoning: false };
    for (const method of ["chat", "complete"] as const) {
      expect((await outcome(core, method, unseen)).metadata.get("x-lintel-attempts")).toBe("2");
    }
  });
});
