/** Penalties, `min_p`, `logit_bias` and `verbosity` before providers of the AI SDK. */
import { describe, expect, it } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { asked } from "./ai-sdk-calls.js";
import { anthropicAt, echo as claude, compatibleAt, openaiAt } from "./ai-sdk-subject.js";
import { message } from "./ai-sdk-thoughts.js";
import { echo } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import type { Script, Upstream } from "./upstream.js";

const everything = {
  ...{ frequencyPenalty: 0.5, presencePenalty: -0.25, repetitionPenalty: 1.5 },
  ...{ minP: 0.05, verbosity: "low", logitBias: { 50256: -100 } },
};
const names = [
  ...["frequency_penalty", "presence_penalty", "repetition_penalty"],
  ...["min_p", "verbosity", "logit_bias"],
];
const ignored = (...fields: string[]) =>
  fields.map((field) => `${field}: not supported by this model, ignored`);

const bodies = (server: Upstream) => server.requests.map(({ body }) => JSON.parse(String(body)));
const saidIn = (body: Record<string, unknown> = {}) =>
  Object.fromEntries(Object.entries(body).filter(([name]) => names.includes(name)));
const supported = (backend: Backend) =>
  backend.models()[0]?.supports.filter((field) => names.includes(field));

describe("a server of OpenAI's form", () => {
  it.each(["x", "my-server"])("by the name %s is told all of it", async (name) => {
    const server = await serve(echo);
    const options = { name, baseURL: `${server.url}/v1`, apiKey: "k" };
    const backend = opened(compatibleAt(server.url, { options }));
    const { code, warnings } = await asked(backend, "complete", everything);
    expect([code, warnings]).toEqual(["ok", []]);
    expect(saidIn(bodies(server)[0])).toEqual({
      ...{ frequency_penalty: 0.5, presence_penalty: -0.25, repetition_penalty: 1.5 },
      ...{ min_p: 0.05, verbosity: "low", logit_bias: { 50256: -100 } },
    });
  });

  it("is told no defaults", async () => {
    const server = await serve(echo);
    await asked(opened(compatibleAt(server.url)), "complete", { repetitionPenalty: 1, minP: 0 });
    expect(saidIn(bodies(server)[0])).toEqual({});
  });

  it("is told what the operator's options say before what requests do", async () => {
    const server = await serve(echo);
    const provider_options = { x: { min_p: 0.2, top_a: 0.1 } };
    const backend = opened(compatibleAt(server.url, { provider_options }));
    await asked(backend, "complete", everything);
    expect(bodies(server)[0]).toMatchObject({ min_p: 0.2, top_a: 0.1, repetition_penalty: 1.5 });
  });

  it("that refuses some is asked without, and that is remembered", async () => {
    const server = await serve((exchange) => {
      const body = exchange.json();
      const message =
        body.presence_penalty !== undefined
          ? "Argument not supported on this model: presencePenalty"
          : body.min_p !== undefined
            ? "Extra inputs are not permitted, field: 'min_p', value: 0.05"
            : undefined;
      return message ? exchange.sendJson(400, { error: { message } }) : echo(exchange);
    });
    const backend = opened(compatibleAt(server.url));
    const first = await asked(backend, "complete", everything);
    expect(first.warnings.toSorted()).toEqual(ignored("min_p", "presence_penalty"));
    expect(supported(backend)).toEqual([
      ...["frequency_penalty", "repetition_penalty", "logit_bias", "verbosity"],
    ]);
    expect((await asked(backend, "complete", everything)).warnings).toEqual(
      ignored("presence_penalty", "min_p"),
    );
    expect(server.requests).toHaveLength(4);
  });
});

describe("OpenAI's responses", () => {
  const usage = { input_tokens: 3, output_tokens: 4 };
  const whole: Script = (exchange) =>
    exchange.sendJson(200, {
      ...{ id: "resp_1", created_at: 1, model: "m", output: [message("Hello.")], usage },
    });

  it("have a verbosity, and no more of it", async () => {
    const server = await serve(whole);
    const backend = opened(openaiAt(server.url));
    expect(supported(backend)).toEqual(["verbosity"]);
    const { warnings } = await asked(backend, "complete", everything);
    expect(warnings).toEqual(ignored(...names.filter((name) => name !== "verbosity")));
    expect(bodies(server)[0]).toMatchObject({ text: { verbosity: "low" } });
    await asked(backend, "complete", {});
    expect(bodies(server)[1]).not.toHaveProperty("text");
  });

  it("of a model that can't be told how much to say are asked for without", async () => {
    const said =
      "Unsupported value: 'low' is not supported with the 'gpt-4o' model. Supported values are: 'medium'.";
    const error = { message: said, param: "text.verbosity", code: "unsupported_value" };
    const server = await serve((exchange) =>
      exchange.json().text?.verbosity ? exchange.sendJson(400, { error }) : whole(exchange),
    );
    const backend = opened(openaiAt(server.url));
    for (const requests of [2, 3]) {
      const { code, warnings } = await asked(backend, "complete", { verbosity: "low" });
      expect([code, warnings]).toEqual(["ok", ignored("verbosity")]);
      expect(server.requests).toHaveLength(requests);
    }
  });
});

it("a penalty that a provider leaves out is told where a caller wanted it, and not of the operator's", async () => {
  const server = await serve(claude);
  const supports = ["max_tokens", "frequency_penalty", "presence_penalty"];
  const models = [{ name: "m", defaults: { frequency_penalty: 0.5 } }];
  const backend = () => opened(anthropicAt(server.url, { models: [{ id: "m", supports }] }));
  expect((await asked(backend(), "complete", {}, models)).warnings).toEqual([]);
  const own = { presencePenalty: 1 };
  expect((await asked(backend(), "complete", own, models)).warnings).toEqual(
    ignored("presence_penalty"),
  );
});

it("Anthropic's models know nothing of it", async () => {
  const server = await serve(claude);
  const backend = opened(anthropicAt(server.url));
  expect(supported(backend)).toEqual([]);
  expect((await asked(backend, "complete", everything)).warnings).toEqual(ignored(...names));
});
