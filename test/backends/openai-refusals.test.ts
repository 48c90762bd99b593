/** What the openai backend learns from refusals. */
import { describe, expect, it } from "vitest";
import { optionalFields } from "../../src/backends/completions/refusals/asking.js";
import { refusedField } from "../../src/backends/completions/refusals/refusal.js";
import { fixture } from "./fixture.js";
import { against, chat, complete } from "./openai-calls.js";
import { echo } from "./openai-subject.js";
import type { Script } from "./upstream.js";

describe("refusals", () => {
  /** Refuses requests that have the field, with the fixture. */
  const refusing =
    (field: string, name: string): Script =>
    (exchange) =>
      field in exchange.json() ? exchange.play(fixture(name)) : echo(exchange);

  it("of stream_options are believed once and remembered", async () => {
    const server = await against(refusing("stream_options", "vllm/refuses-stream-options"));
    const call = await chat(server);
    await chat(server);
    const asked = server.bodies().map((body) => "stream_options" in body);
    expect(asked).toEqual([true, false, false]);
    expect([...call.warnings]).toEqual([]);
  });

  it("of temperature are remembered, told, and no longer claimed as supported", async () => {
    const server = await against(refusing("temperature", "openai/refuses-temperature"));
    expect(server.backend.models()[0]?.supports).toContain("temperature");
    const call = await chat(server, { temperature: 0.1 });
    expect([...call.warnings]).toEqual(["temperature: not supported by this model, ignored"]);
    expect(server.backend.models()[0]?.supports).not.toContain("temperature");
    expect(server.backend.models()[0]?.supports).toContain("top_p");
    await complete(server);
    expect(server.bodies()).toHaveLength(3);
  });

  it.each(["moonshot", "anthropic", "openrouter"])(
    "of temperature in the words of %s are understood",
    async (vendor) => {
      const server = await against(refusing("temperature", `${vendor}/refuses-temperature`));
      expect([...(await chat(server)).warnings]).toEqual([]);
      const call = await chat(server, { temperature: 0.2 });
      expect(server.bodies().map(({ temperature }) => temperature)).toEqual([
        0.7,
        undefined,
        undefined,
      ]);
      expect([...call.warnings]).toEqual([]);
      expect(server.backend.models()[0]?.supports).not.toContain("temperature");
    },
  );

  it("of one caller's value are told to that caller, and cost others nothing", async () => {
    const server = await against((exchange) => {
      const { temperature = 0, seed = 0 } = exchange.json() as {
        temperature?: number;
        seed?: number;
      };
      const message =
        temperature > 1
          ? `temperature: ${temperature} is not allowed, must be from 0 to 1`
          : seed > 2 ** 31 && `Unsupported value: 'seed' does not support ${seed}`;
      return message ? exchange.sendJson(400, { error: { message } }) : echo(exchange);
    });
    const odd = await chat(server, { temperature: 2, seed: 4294967295n });
    expect([...odd.warnings]).toEqual([
      "temperature: not supported by this model, ignored",
      "seed: not supported by this model, ignored",
    ]);
    await chat(server, { temperature: 0.2, seed: 7n });
    expect(server.bodies().at(-1)).toMatchObject({ temperature: 0.2, seed: 7 });
    expect(server.backend.models()[0]?.supports).toEqual(
      expect.arrayContaining(["temperature", "seed"]),
    );
  });

  it("of the value that nobody chose leave it out, and what callers choose goes on", async () => {
    const said = "Input validation error: `top_p` must be > 0.0 and < 1.0";
    const server = await against((exchange) => {
      const { top_p } = exchange.json();
      if (top_p === undefined || top_p < 1) return echo(exchange);
      return exchange.sendJson(422, { error: said, error_type: "validation" });
    });
    const call = await chat(server, { topP: 1 });
    await chat(server, { topP: 1 });
    await chat(server, { topP: 0.9 });
    expect(server.bodies().map(({ top_p }) => top_p)).toEqual([1, undefined, undefined, 0.9]);
    expect([...call.warnings]).toEqual([]);
    expect(server.backend.models()[0]?.supports).toContain("top_p");
  });

  it("of a value that a caller chose are the caller's to hear", async () => {
    const error = { message: "`top_p` must be > 0.0 and < 1.0" };
    const server = await against((exchange) => exchange.sendJson(422, { error }));
    await expect(chat(server, { topP: 0.5 })).rejects.toMatchObject({ code: "invalid_value" });
    expect(server.bodies()).toHaveLength(1);
  });

  it("of top_p at 1 are not waited for where the server is known", async () => {
    const server = await against(echo, { dialect: "tgi" });
    for (const topP of [1, 0.5]) await chat(server, { topP });
    expect(server.bodies().map(({ top_p }) => top_p)).toEqual([undefined, 0.5]);
  });

  it("of stop name it, and another target may take it", async () => {
    const message = "Unsupported parameter: 'stop' is not supported with this model.";
    const error = { message, param: "stop", code: "unsupported_parameter" };
    const server = await against((exchange) => exchange.sendJson(400, { error }));
    const refused = { code: "unsupported_parameter", param: "stop", retry: "elsewhere" };
    await expect(chat(server, { stop: ["."] })).rejects.toMatchObject(refused);
    await expect(chat(server)).rejects.toMatchObject({ code: "invalid_value" });
  });

  it.each([7n, 0n])("of the seed %s are told: it is a wish", async (seed) => {
    const server = await against(refusing("seed", "mistral/refuses-seed"));
    const call = await chat(server, { seed });
    expect([...call.warnings]).toEqual(["seed: not supported by this model, ignored"]);
    expect(server.bodies()[1]).not.toHaveProperty("seed");
    expect(server.backend.models()[0]?.supports).not.toContain("seed");
  });

  it("of several fields at once are each believed", async () => {
    const server = await against((exchange) => {
      const body = exchange.json();
      if ("top_k" in body) return exchange.play(fixture("google/refuses-top-k-and-seed"));
      return "seed" in body ? exchange.play(fixture("google/refuses-seed")) : echo(exchange);
    });
    const call = await chat(server, { topK: 40, seed: 7n });
    expect([...call.warnings]).toEqual([
      "top_k: not supported by this model, ignored",
      "seed: not supported by this model, ignored",
    ]);
  });

  it.each([
    ["of the default is not told", 1, []],
    ["of a caller's is told", 0.5, ["top_p: not supported by this model, ignored"]],
  ])("of top_p beside temperature %s", async (_, topP, warnings) => {
    const server = await against((exchange) => {
      const { temperature, top_p } = exchange.json();
      if (temperature === undefined || top_p === undefined) return echo(exchange);
      return exchange.play(fixture("anthropic/refuses-both"));
    });
    const call = await chat(server, { topP });
    await chat(server);
    expect([...call.warnings]).toEqual(warnings);
    expect(server.bodies().map((body) => body.top_p)).toEqual([topP, undefined, undefined]);
    expect(server.bodies().map((body) => body.temperature)).toEqual([0.7, 0.7, 0.7]);
  });

  it("of a default are not told: nobody asked for it", async () => {
    const server = await against(refusing("temperature", "openai/refuses-temperature"));
    expect([...(await chat(server)).warnings]).toEqual([]);
  });

  it("of max_tokens lead to its other name, which still counts as supported", async () => {
    const server = await against(refusing("max_tokens", "openai/refuses-max-tokens"));
    await chat(server, { maxTokens: 9 });
    expect(server.bodies()[1]).toMatchObject({ max_completion_tokens: 9 });
    expect(server.bodies()[1]).not.toHaveProperty("max_tokens");
    expect(server.backend.models()[0]?.supports).toContain("max_tokens");
  });

  it.each([401, 403, 404, 429, 500, 503])("are no more than words beside %d", async (status) => {
    const server = await against((exchange) =>
      exchange.sendJson(status, { error: { message: "temperature is not supported" } }),
    );
    await expect(chat(server, { temperature: 0.1 })).rejects.toThrowError();
    expect(server.bodies()).toHaveLength(1);
  });

  it("are not remembered where it fails without, too", async () => {
    const server = await against((exchange) =>
      exchange.play(fixture("openai/refuses-temperature")),
    );
    await expect(chat(server)).rejects.toMatchObject({ code: "invalid_value" });
    expect(server.bodies()).toHaveLength(2);
    expect(server.backend.models()[0]?.supports).toContain("temperature");
  });

  it.each([
    ["openai/bad-temperature", undefined],
    ["vllm/too-long", undefined],
    ["openai/bad-key", undefined],
    ["openai/refuses-temperature", "temperature"],
    ["openai/refuses-max-tokens", "max_tokens"],
    ["vllm/refuses-stream-options", "stream_options"],
    ["anthropic/refuses-both", "top_p"],
    ["mistral/refuses-stream-options", "stream_options"],
    ["mistral/refuses-seed", "seed"],
    ["google/refuses-top-k-and-seed", "top_k"],
    ["google/refuses-seed", "seed"],
  ])("%s is one of %s", (name, field) => {
    const { status, body } = fixture(name);
    expect(refusedField(status, String(body), optionalFields)).toBe(field);
  });

  it.each([
    // Fireworks, quoted in FlowiseAI/Flowise issue 2866.
    ["Extra inputs are not permitted, field: 'stream_options'", "stream_options"],
    ["Extra inputs are not permitted, field: 'top_k', value: 40", "top_k"],
    ["temperature and top_p are both not supported", "temperature"],
    ["temperature and top_k cannot both be 0", undefined],
    ["invalid top_p: only 0.95 is allowed for this model", "top_p"],
    ["invalid temperature: only values from 0 to 1 are allowed", undefined],
    ["max_tokens is deprecated, use max_completion_tokens", "max_tokens"],
    ["this model is deprecated", undefined],
    ["top_k must be at least 1", undefined],
    ["unknown model max_tokens_3", undefined],
  ])("%s", (text, field) => {
    expect(refusedField(400, JSON.stringify({ error: { message: text } }), optionalFields)).toBe(
      field,
    );
  });

  it.each([
    ["mistral/refuses-seed", "Extra inputs are not permitted"],
    ["google/refuses-top-k-and-seed", 'Unknown name "top_k": Cannot find field'],
  ])("of %s are told in its words where nothing helps", async (name, words) => {
    const server = await against((exchange) => exchange.play(fixture(name)));
    await expect(chat(server)).rejects.toMatchObject({
      code: "invalid_value",
      message: expect.stringContaining(words),
    });
  });

  it("in FastAPI's form are understood", () => {
    // Mistral and others behind FastAPI.
    const detail = [
      { type: "extra_forbidden", loc: ["body", "top_k"], msg: "Extra inputs are not permitted" },
    ];
    expect(refusedField(422, JSON.stringify({ detail }), optionalFields)).toBe("top_k");
  });
});
