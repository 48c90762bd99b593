/** What a provider leaves out without a word, and is sent, or said, all the same. */
import { describe, expect, it } from "vitest";
import { failureOf, reportedBy } from "../../src/backends/ai-sdk/failure.js";
import { asked, bodies, stampsOf, weatherTools } from "./ai-sdk-calls.js";
import { anthropicAt, compatibleAt } from "./ai-sdk-subject.js";
import { compatible, gemini, googleAt } from "./ai-sdk-thoughts.js";
import { opened, serve } from "./serve.js";
import type { Script } from "./upstream.js";

const rain = compatible({ content: "Rain." }, { prompt_tokens: 3, completion_tokens: 2 });

/** Refuses what has something in its body, in a server's words. */
const refusing =
  (has: (body: Record<string, unknown>) => unknown, message: string): Script =>
  (exchange) =>
    has(exchange.json()) ? exchange.sendJson(400, { error: { message } }) : rain(exchange);

describe("a server of OpenAI's form", () => {
  it("is asked to count the tokens of streams, by no header of ours", async () => {
    const server = await serve(rain);
    const backend = opened(compatibleAt(server.url));
    await asked(backend, "chat", {});
    await asked(backend, "complete", {});
    const [stream, whole] = bodies(server);
    expect(stream.stream_options).toEqual({ include_usage: true });
    expect(whole.stream_options).toBeUndefined();
    for (const { headers } of server.requests) {
      expect(Object.keys(headers).filter((name) => name.startsWith("lintel"))).toEqual([]);
    }
  });

  it("that refuses to count is asked without from then on, and nobody is warned", async () => {
    const words = "Unrecognized request argument supplied: stream_options";
    const server = await serve(refusing(({ stream_options }) => stream_options, words));
    const backend = opened(compatibleAt(server.url));
    for (const requests of [2, 3]) {
      const { code, text, warnings } = await asked(backend, "chat", {});
      expect([code, text, warnings]).toEqual(["ok", "Rain.", []]);
      expect(server.requests).toHaveLength(requests);
    }
  });

  it("that takes no strict tools gets them without, and its caller is warned", async () => {
    const isStrict = ({ tools = [] }: { tools?: { function: { strict?: boolean } }[] }) =>
      tools.some(({ function: { strict } }) => strict);
    const server = await serve(
      refusing(isStrict, "tools.0.function.strict: Extra inputs are not permitted"),
    );
    const backend = opened(compatibleAt(server.url));
    for (const requests of [2, 3]) {
      const { code, warnings } = await asked(backend, "complete", { tools: weatherTools });
      expect([code, warnings]).toEqual(["ok", ["strict: not supported by this model, ignored"]]);
      expect(server.requests).toHaveLength(requests);
    }
  });
});

it("Anthropic is told that calls come one by one", async () => {
  const server = await serve((exchange) => exchange.sendJson(500, {}));
  const backend = opened(anthropicAt(server.url));
  for (const parallelToolCalls of [false, undefined]) {
    await asked(backend, "complete", { tools: weatherTools, parallelToolCalls });
  }
  const [one, any] = bodies(server);
  expect(one.tool_choice).toEqual({ type: "auto", disable_parallel_tool_use: true });
  expect(any.tool_choice).toBeUndefined();
});

it("Gemini's own name of a model comes out", async () => {
  const server = await serve(gemini({ text: "Rain." }));
  const backend = opened(googleAt(server.url, { models: [{ id: "gemini-3-alias" }] }));
  const stamp = stampsOf(backend, "complete");
  await asked(backend, "complete", { model: "gemini-3-alias" });
  expect(stamp()).toEqual({ id: "r1", model: "gemini-3-pro" });
});

describe("an event that tells of a failure", () => {
  it.each([
    [{ serviceUnavailableException: { message: "busy" } }, "unavailable"],
    [{ throttlingException: { message: "slow" } }, "rate_limited"],
    [{ validationException: { message: "too long" } }, "invalid_value"],
    [{ modelStreamErrorException: { message: "?" } }, "upstream_failed"],
    [{ type: "response.failed", response: { error: { code: "overloaded" } } }, "unavailable"],
  ])("has its kind: %j", (event, code) => {
    expect(reportedBy(event)).toMatchObject({ code });
  });

  it("is none of others", () => {
    expect(reportedBy({ contentBlockDelta: { delta: {} } })).toBeUndefined();
    expect(reportedBy({ type: "response.completed", response: { error: null } })).toBeUndefined();
    expect(failureOf({ message: "busy", type: "serviceUnavailableException" }).code).toBe(
      "unavailable",
    );
  });
});
