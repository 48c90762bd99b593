/** Answers in JSON, by a schema or not. */
import { describe, expect, it } from "vitest";
import type { ModelSettings } from "../../src/core/settings.js";
import { asked, bodies, weatherTools } from "./ai-sdk-calls.js";
import { anthropicAt, compatibleAt, openaiAt } from "./ai-sdk-subject.js";
import { fixture } from "./fixture.js";
import { echo } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import type { Script } from "./upstream.js";

const schema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const jsonSchema = {
  name: "place",
  description: "Where it is",
  schema: JSON.stringify(schema),
};
const bySchema = { responseFormat: { type: "json_schema", jsonSchema } };
const strictly = {
  responseFormat: { type: "json_schema", jsonSchema: { ...jsonSchema, strict: true } },
};
const anyJson = { responseFormat: { type: "json_object" } };
const refused = { code: "unsupported_parameter", error: { param: "response_format" } };
const ignoring: ModelSettings[] = [{ name: "m", unsupported: "ignore" }];

describe("a server of OpenAI's form", () => {
  const formatOf = async (request: object, config = {}) => {
    const server = await serve(echo);
    const { code, warnings } = await asked(
      opened(compatibleAt(server.url, config)),
      "chat",
      request,
    );
    expect([code, warnings]).toEqual(["ok", []]);
    return bodies(server)[0].response_format;
  };

  it("gets the form, with a schema that is as strict as the caller says", async () => {
    const written = { name: "place", description: "Where it is", schema };
    expect(await formatOf(bySchema)).toEqual({
      type: "json_schema",
      json_schema: { ...written, strict: false },
    });
    expect(await formatOf(strictly)).toEqual({
      type: "json_schema",
      json_schema: { ...written, strict: true },
    });
    expect(await formatOf(anyJson)).toEqual({ type: "json_object" });
    expect(await formatOf({ responseFormat: { type: "text" } })).toBeUndefined();
    const open = { responseFormat: { type: "json_schema", jsonSchema: { name: "any" } } };
    expect(await formatOf(open)).toEqual({ type: "json_object" });
  });

  it("gets a schema that is as strict as the operator says", async () => {
    const config = { provider_options: { openaiCompatible: { strictJsonSchema: true } } };
    expect((await formatOf(bySchema, config)).json_schema.strict).toBe(true);
  });

  it("may refuse it, and another target may take it", async () => {
    const words = "'response_format' of type 'json_schema' is not supported with this model";
    const error = { message: words, type: "invalid_request_error", param: "response_format" };
    const server = await serve((exchange) => exchange.sendJson(400, { error }));
    const failed = await asked(opened(compatibleAt(server.url)), "chat", bySchema);
    expect(failed).toMatchObject(refused);
    expect(failed.error?.retry).toBe("elsewhere");
    expect(failed.error?.message).toContain(words);
  });

  it.each(["chat", "complete"] as const)(
    "is not asked twice where its provider leaves schemas out of %s, and goes on to give other JSON",
    async (method) => {
      const server = await serve(echo);
      const options = { name: "x", baseURL: `${server.url}/v1`, supportsStructuredOutputs: false };
      const backend = opened(compatibleAt(server.url, { options }));
      for (const time of ["first", "second"]) {
        const failed = await asked(backend, method, bySchema);
        expect(failed, time).toMatchObject(refused);
        expect(failed.messages, time).toEqual([]);
      }
      expect(server.requests).toHaveLength(1);
      expect((await asked(backend, method, anyJson)).code).toBe("ok");
      for (const time of ["first", "second"]) {
        const { code, warnings } = await asked(backend, method, bySchema, ignoring);
        expect([code, warnings], time).toEqual([
          "ok",
          ["response_format: not supported by this model, ignored"],
        ]);
      }
    },
  );
});

describe("Anthropic", () => {
  const head = { "content-type": "application/json" };
  const whole = JSON.parse(String(fixture("anthropic/tool-whole").body));
  /** Answers with JSON as text, or in a call of the one tool that has to be called. */
  const answering: Script = (exchange) => {
    const { tool_choice } = exchange.json();
    const input = { city: "Köln" };
    const part = tool_choice
      ? { type: "tool_use", id: "toolu_01", name: "json", input }
      : { type: "text", text: JSON.stringify(input) };
    const stop_reason = tool_choice ? "tool_use" : "end_turn";
    return exchange.send(200, head, JSON.stringify({ ...whole, content: [part], stop_reason }));
  };
  const at = (url: string, config = {}) => opened(anthropicAt(url, config));
  const sonnet = { model: "claude-sonnet-4-5" };
  const models = [{ id: "claude-sonnet-4-5" }];

  it("gets a schema, and has a tool called where a model takes none: either way it is text", async () => {
    const server = await serve(answering);
    const known = await asked(at(server.url, { models }), "complete", { ...sonnet, ...bySchema });
    const other = await asked(at(server.url), "complete", bySchema);
    for (const { text, calls, finishReason, warnings } of [known, other]) {
      expect([text, calls, finishReason]).toEqual(['{"city":"Köln"}', [], "stop"]);
      expect(warnings).toEqual([]);
    }
    const [first, second] = bodies(server);
    expect(first.output_config).toEqual({ format: { type: "json_schema", schema } });
    expect(second.tools).toMatchObject([{ name: "json", input_schema: schema }]);
  });

  it("takes no other JSON: that is refused, and from then on not asked for", async () => {
    const server = await serve(answering);
    const backend = at(server.url);
    for (const time of ["first", "second"]) {
      expect(await asked(backend, "complete", anyJson), time).toMatchObject(refused);
    }
    expect(server.requests).toHaveLength(1);
    expect((await asked(backend, "complete", bySchema)).code).toBe("ok");
    expect(backend.models()[0]?.supports).toContain("response_format");
  });

  const thinking = (type: string, more: object) => ({
    models,
    provider_options: { anthropic: { thinking: { type, budgetTokens: 1024 }, ...more } },
  });

  it("has no tool called for JSON while it thinks: that is refused, and another schema may do", async () => {
    const server = await serve(answering);
    const backend = at(server.url, thinking("enabled", { structuredOutputMode: "jsonTool" }));
    for (const time of ["first", "second"]) {
      const failed = await asked(backend, "complete", { ...sonnet, ...bySchema });
      expect(failed, time).toMatchObject(refused);
    }
    expect(server.requests).toHaveLength(2);
  });

  it("has no tool called while it thinks: a forced choice is refused, and no other", async () => {
    const server = await serve(answering);
    const backend = at(server.url, thinking("enabled", {}));
    const choosing = (type: string) =>
      asked(backend, "complete", { ...sonnet, tools: weatherTools, toolChoice: { type } });
    for (const time of ["first", "second"]) {
      const failed = await choosing("required");
      expect(failed, time).toMatchObject({ ...refused, error: { param: "tool_choice" } });
    }
    expect(server.requests).toHaveLength(1);
    for (const type of ["auto", "none"]) expect((await choosing(type)).code, type).toBe("ok");
    expect(bodies(server).map(({ tool_choice }) => tool_choice.type)).toEqual([
      ...["auto", "auto", "none"],
    ]);
  });

  it("goes without a forced choice where the operator says so", async () => {
    const server = await serve(answering);
    const backend = at(server.url, thinking("enabled", {}));
    const forced = { ...sonnet, tools: weatherTools, toolChoice: { type: "required" } };
    const settings = [{ name: "claude-sonnet-4-5", unsupported: "ignore" } as const];
    for (const time of ["first", "second"]) {
      const { code, warnings } = await asked(backend, "complete", forced, settings);
      expect(code, time).toBe("ok");
      expect(warnings, time).toContain("tool_choice: not supported by this model, ignored");
    }
  });
});

it("OpenAI's Responses API gets the form, with a schema that is as strict as the caller says", async () => {
  const server = await serve((exchange) =>
    exchange.play(fixture("openai/responses-function-call")),
  );
  const backend = opened(openaiAt(server.url));
  for (const request of [bySchema, strictly, anyJson]) await asked(backend, "chat", request);
  const written = { type: "json_schema", name: "place", description: "Where it is", schema };
  expect(bodies(server).map(({ text }) => text.format)).toEqual([
    { ...written, strict: false },
    { ...written, strict: true },
    { type: "json_object" },
  ]);
});
