import { describe, expect, onTestFinished, test } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { LintelError } from "../../src/core/errors.js";
import type { CallLogSettings } from "../../src/core/log-call.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { Upstream } from "../backends/upstream.js";
import { outcome, start } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { gateway } from "../support/gateway.js";
import { imagePart, say, textPart } from "../support/messages.js";
import {
  breaksAfter,
  callsTools,
  hangsAfter,
  paints,
  says,
  scripted,
  thinksCounted,
} from "../support/scripted.js";

/** A core, and what it logs of calls. */
function logging(backends: readonly Backend[], callLog: Partial<CallLogSettings> = {}) {
  const lines: Record<string, unknown>[] = [];
  const note = (fields: object, text: string) => {
    if (text === "call") lines.push({ ...fields });
  };
  const log = { debug: note, info: note, warn: note, error: note };
  const settings = { callLog: { sample: 1, content: false, ...callLog } };
  return { core: coreOf(backends, settings, { log }), lines };
}

const asked = { messages: [{ role: "user", content: "my secret plan" }] };
const broken = new LintelError("upstream_failed", "broke");

describe("a call is one line", () => {
  test.each([
    ["that is answered", says("x"), "ok"],
    ["that fails at once", breaksAfter(broken), "upstream_failed"],
    ["that fails on its way", breaksAfter(broken, "x"), "upstream_failed"],
  ])("%s", async (_, chat, code) => {
    const { core, lines } = logging([scripted({ chat })]);
    await outcome(core, "chat", asked, { requestId: "my-id" });
    expect(lines).toMatchObject([{ id: "my-id", method: "chat", code, door: "test" }]);
  });

  test("whose caller stops while a step is on its way", async () => {
    const { handle, aborted } = hangsAfter("x");
    // No success, of which none is logged here.
    const { core, lines } = logging([scripted({ chat: handle })], { sample: 0 });
    const messages = start(core, "chat", asked).messages[Symbol.asyncIterator]();
    await messages.next();
    const pending = messages.next().catch((error: LintelError) => error.code);
    await messages.return?.();
    await aborted;
    expect(await pending).toBe("cancelled");
    expect(lines).toMatchObject([{ code: "cancelled", error: "the caller left" }]);
    expect(core.readiness.running).toBe(0);
  });

  test("with the begin of what a model server said, however much that was", async () => {
    const cause = new Error(`first ${"x".repeat(1_000_000)}`);
    const failing = breaksAfter(new LintelError("upstream_failed", "broke", { cause }));
    const { core, lines } = logging([scripted({ chat: failing })]);
    await outcome(core, "chat", asked);
    expect(lines).toMatchObject([{ cause: expect.stringContaining("first x") }]);
    expect(JSON.stringify(lines).length).toBeLessThan(5000);
  });

  test("with all that is behind a failure of others in words, and no stack", async () => {
    const closed = Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" });
    const refused = new Error("connect ECONNREFUSED ::1:1");
    for (const [cause, words] of [
      [
        new TypeError("fetch failed", { cause: closed }),
        "fetch failed: other side closed (UND_ERR_SOCKET)",
      ],
      [
        new AggregateError([refused, new Error("connect ECONNREFUSED 127.0.0.1:1")]),
        refused.message,
      ],
      [
        new Error("proxy failed: it hung up", { cause: new Error("it hung up") }),
        "proxy failed: it hung up",
      ],
      ["in so many words", "in so many words"],
    ]) {
      const failing = breaksAfter(new LintelError("upstream_failed", "broke", { cause }));
      const { core, lines } = logging([scripted({ chat: failing })]);
      await outcome(core, "chat", asked);
      expect(lines).toMatchObject([{ cause: words }]);
    }
  });

  test("with the stack of a fault of the gateway's own", async () => {
    const { core, lines } = logging([
      scripted({ chat: breaksAfter(new TypeError("no such thing")) }),
    ]);
    await outcome(core, "chat", asked);
    expect(lines).toMatchObject([
      { cause: expect.stringMatching(/^TypeError: no such thing\n +at /) },
    ]);
  });

  test("that was asked for with what can't be read", async () => {
    const { core, lines } = logging([scripted({ chat: says("x") })]);
    const defect = new LintelError("invalid_json", "no");
    await outcome(core, "chat", asked, { defect });
    expect(lines).toMatchObject([{ code: "invalid_json" }]);
  });

  test("with the id of the caller's trace", async () => {
    const { core, lines } = logging([scripted({ chat: says("x") })]);
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
    const header = (name: string) => (name === "traceparent" ? traceparent : undefined);
    await outcome(core, "chat", asked, { header });
    expect(lines).toMatchObject([{ traceId }]);
  });
});

describe("what was said", () => {
  const backends = () => [scripted({ chat: says("the ", "answer"), streamTextToImage: paints(1) })];

  test("is not in the log", async () => {
    const { core, lines } = logging(backends());
    await outcome(core, "chat", asked);
    await outcome(core, "textToImage", { prompt: "my secret picture", includeData: true });
    expect(lines).toHaveLength(2);
    expect(JSON.stringify(lines)).not.toMatch(/secret|answer/);
  });

  test("is, where that is switched on; pictures are not", async () => {
    const { core, lines } = logging(backends(), { content: true });
    await outcome(core, "chat", asked);
    await outcome(core, "complete", asked);
    await outcome(core, "textToImage", {
      prompt: "a house",
      negativePrompt: "trees",
      includeData: true,
    });
    const chat = { prompt: asked.messages, completion: "the answer" };
    expect(lines).toMatchObject([chat, chat, { prompt: "a house", negativePrompt: "trees" }]);
    for (const line of lines) expect(JSON.stringify(line).length).toBeLessThan(1000);
  });

  test("so is what was thought, now and before, as far as the caller sees it", async () => {
    const { core, lines } = logging([scripted({ chat: thinksCounted("I think so.", "Yes") })], {
      content: true,
    });
    const messages = [
      say("user", "Really?"),
      say("assistant", "Yes", { reasoningContent: "I thought so." }),
      say("user", "Really?"),
    ];
    await outcome(core, "chat", { messages });
    await outcome(core, "complete", { messages, includeReasoning: false });
    const counts = { cachedTokens: 3, cacheWriteTokens: 2, reasoningTokens: 8 };
    expect(lines).toMatchObject([
      { reasoning: "I think so.", completion: "Yes", ...counts },
      { completion: "Yes", ...counts },
    ]);
    expect(lines[1]).not.toHaveProperty("reasoning");
    const question = { role: "user", content: "Really?" };
    const answer = { role: "assistant", reasoning: "I thought so.", content: "Yes" };
    expect(lines[0]?.prompt).toEqual([question, answer, question]);
  });

  test("so are calls of tools, and the texts beside images", async () => {
    const pieces = [toolCall(0, "a", "weather", '{"city":'), toolCall(0, "", "", '"Rome"}')];
    const chat = callsTools(...pieces.map((it) => [it]));
    const { core, lines } = logging([scripted({ chat })], { content: true });
    const url = `data:image/png;base64,${"A".repeat(5000)}`;
    const messages = [
      say("user", "", { parts: [textPart("Where?"), imagePart(url)] }),
      say("assistant", "", { toolCalls: [toolCall(0, "1", "where", "{}")] }),
    ];
    await outcome(core, "chat", { messages });
    expect(lines).toMatchObject([
      {
        prompt: [
          { role: "user", content: "Where?" },
          { role: "assistant", toolCalls: [{ name: "where", arguments: "{}" }] },
        ],
        toolCalls: [{ name: "weather", arguments: '{"city":"Rome"}' }],
      },
    ]);
    expect(JSON.stringify(lines).length).toBeLessThan(1000);
  });
});

test("what a model server said is told with whose it is, of each that was asked", async () => {
  const server = await Upstream.start((exchange) =>
    exchange.sendJson(401, { error: { message: "whose key is this?" } }),
  );
  onTestFinished(() => server.close());
  const backend = (name: string) =>
    `  - { type: openai, name: ${name}, url: "${server.url}", models: [m] }\n`;
  const { chat, lines } = await gateway(`backends:\n${backend("one")}${backend("two")}`);
  expect((await chat("m")).status).toBe(502);
  const refused = lines.filter(({ message }) => message === "the model server refused");
  const told = refused.map(({ fields: { backend, status, said } }) => ({ backend, status, said }));
  const words = { status: 401, said: "whose key is this?" };
  expect(told).toHaveLength(2);
  expect(told).toEqual(
    expect.arrayContaining([
      { backend: "one", ...words },
      { backend: "two", ...words },
    ]),
  );
});

test("of calls that went well a share is logged, failures always", async () => {
  const { core, lines } = logging([scripted({ chat: says("x") })], { sample: 0 });
  await outcome(core, "chat", asked);
  expect(lines).toEqual([]);
  await outcome(core, "chat", { messages: [] });
  expect(lines).toMatchObject([{ code: "invalid_fields" }]);
});
