/** How much a model thinks: as the caller says, or else the operator. */
import { describe, expect, it, onTestFinished } from "vitest";
import { echo } from "../backends/openai-subject.js";
import { Upstream } from "../backends/upstream.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { gateway } from "../support/gateway.js";
import { chatModel } from "../support/models.js";
import { hello } from "../support/routing.js";
import { says, scripted } from "../support/scripted.js";

describe("reasoning_effort of an entry of models", () => {
  /** What a model server is asked for, by an operator's file and a caller's body. */
  async function asked(entry: string, body: object): Promise<unknown> {
    const bodies: Record<string, unknown>[] = [];
    const upstream = await Upstream.start((exchange) => {
      if (exchange.request.method === "POST") bodies.push(exchange.json());
      return echo(exchange);
    });
    onTestFinished(() => upstream.close());
    const { url } = await gateway(`
models: [{ name: m${entry} }]
backends: [{ type: openai, name: a, url: "${upstream.url}", models: [m] }]
`);
    const answer = await fetch(`${url}/llm`, {
      method: "POST",
      headers: { authorization: "Bearer me", "content-type": "application/json" },
      body: JSON.stringify({ ...hello, model: "m", ...body }),
    });
    expect(answer.status).toBe(200);
    expect(await answer.json()).not.toHaveProperty("warnings");
    expect(bodies).toHaveLength(1);
    return bodies[0]?.reasoning_effort;
  }

  it("is asked of the model server where the caller says nothing", async () => {
    expect(await asked(", reasoning_effort: high", {})).toBe("high");
    expect(await asked("", {})).toBeUndefined();
  });

  it.each(["low", "none"])("gives way to the caller's: %s", async (effort) => {
    const body = { reasoning_effort: effort };
    expect(await asked(", reasoning_effort: high", body)).toBe(effort);
  });
});

describe("a model that knows no effort", () => {
  const run = async (more: object, settings: object = {}) => {
    const backend = scripted({ chat: says("x") }, [chatModel("chat-1", { supports: [] })]);
    const entry = { name: "chat-1", reasoningEffort: "high", ...settings };
    const core = coreOf([backend], { models: [entry] });
    const { code, warnings } = await outcome(core, "chat", { ...hello, model: "chat-1", ...more });
    return { code, warnings, asked: backend.asked };
  };
  const without = [{ reasoningEffort: "" }];

  it("is not asked for the operator's", async () => {
    expect(await run({})).toMatchObject({ code: "ok", warnings: [], asked: without });
  });

  it("is not asked for the caller's, who is warned; of none at all there is nothing to say", async () => {
    const warnings = ["reasoning_effort: not supported by this model, ignored"];
    const low = await run({ reasoningEffort: "low" });
    expect(low).toMatchObject({ code: "ok", warnings, asked: without });
    const none = await run({ reasoningEffort: "none" });
    expect(none).toMatchObject({ code: "ok", warnings: [], asked: without });
  });

  it("is not asked at all where the operator wants that refused", async () => {
    const refused = await run({ reasoningEffort: "low" }, { unsupported: "reject" });
    expect(refused).toMatchObject({ code: "unsupported_parameter", asked: [] });
  });
});

it("a wrong effort is told with all that there are", async () => {
  const backend = scripted({ chat: says("x") });
  const { error } = await outcome(coreOf([backend]), "chat", { ...hello, reasoningEffort: "huge" });
  expect(error).toMatchObject({
    code: "invalid_fields",
    message: "reasoning_effort: must be one of none, minimal, low, medium, high, xhigh, max",
  });
  expect(backend.asked).toEqual([]);
});
