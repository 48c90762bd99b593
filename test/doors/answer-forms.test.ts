/** Forms of answers, as clients of other servers ask OpenAI's paths for them. */
import { describe, expect, test } from "vitest";
import type { LLMRequest, ResponseFormat } from "../../gen/lintel/v1/chat_pb.js";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";
import { asked } from "./asked.js";
import { hello, json, serve, serveChat } from "./serve.js";

const completions = "/v1/chat/completions";
const responses = "/v1/responses";
const schema = { type: "object", properties: { n: { type: "integer" } } };
const text = JSON.stringify(schema);

/** Bodies with the same members, by path. */
const bodies = (more: object): [path: string, body: object][] => [
  [completions, hello(more)],
  [responses, { input: "Hello", ...more }],
];

/** How a body's form reaches the backend. */
async function formOf(path: string, body: object | string): Promise<ResponseFormat | undefined> {
  const { request, warnings } = await asked(path, body);
  expect(warnings).toEqual([]);
  return (request as LLMRequest).responseFormat;
}

const bySchema = { type: "json_schema", jsonSchema: { name: "output", schema: text } };

describe("a schema, or any JSON", () => {
  test.each([
    [{ guided_json: schema }, bySchema],
    [{ guided_json: text }, bySchema],
    [{ json_schema: schema }, bySchema],
    [{ structured_outputs: { json: schema } }, bySchema],
    [{ structured_outputs: { json: text, disable_any_whitespace: false } }, bySchema],
    [{ structured_outputs: { json_object: true } }, { type: "json_object" }],
    [{ nvext: { guided_json: schema } }, bySchema],
    [{ format: schema }, bySchema],
    [{ format: "json" }, { type: "json_object" }],
    // OpenRouter's, and what forms send that nobody filled in.
    [{ structured_outputs: true }, undefined],
    [{ structured_outputs: {}, guided_json: null, format: "", nvext: {} }, undefined],
    [{ guided_regex: null, guided_choice: [], grammar: "" }, undefined],
  ])("%j", async (more, format) => {
    for (const [path, body] of bodies(more)) {
      const told = await formOf(path, body);
      if (format === undefined) expect(told).toBeUndefined();
      else expect(told).toMatchObject(format);
    }
  });

  test.each([
    { type: "json_object", schema },
    { type: "json_schema", schema },
    { type: "json_object", value: schema },
    { type: "json", value: text },
  ])("beside the type: %j", async (response_format) => {
    expect(await formOf(completions, hello({ response_format }))).toMatchObject(bySchema);
  });

  test("beside a form of OpenAI's own that asks for nothing", async () => {
    const plain = { type: "text" };
    const chat = hello({ response_format: plain, guided_json: schema });
    expect(await formOf(completions, chat)).toMatchObject(bySchema);
    const response = { input: "Hello", text: { format: plain }, guided_json: schema };
    expect(await formOf(responses, response)).toMatchObject(bySchema);
  });

  test("OpenAI's own is what it was", async () => {
    const json_schema = { name: "n", schema };
    const own = { type: "json_schema", json_schema, schema: {} };
    const told = { type: "json_schema", jsonSchema: { name: "n", schema: text } };
    expect(await formOf(completions, hello({ response_format: own }))).toMatchObject(told);
  });

  test("has its numbers as they were written", async () => {
    const written = '{"maximum":9007199254740993}';
    for (const more of [
      `"guided_json":${written}`,
      `"structured_outputs":{"json":${written}}`,
      `"response_format":{"type":"json_object","schema":${written}}`,
    ]) {
      const body = `{"messages":[{"role":"user","content":"Hi"}],${more}}`;
      expect(await formOf(completions, body)).toMatchObject({ jsonSchema: { schema: written } });
    }
  });
});

const texts = ["yes", "no"];
const asObject = { type: "json_schema", json_schema: { name: "n", schema } };

test.each([
  ["guided_json", { guided_json: "no" }, "JSON"],
  ["guided_json", { guided_json: [] }, "JSON"],
  ["json_schema", { json_schema: 5 }, "JSON"],
  ["structured_outputs.json", { structured_outputs: { json: "no" } }, "JSON"],
  ["structured_outputs", { structured_outputs: "json" }, "must be an object"],
  ["nvext", { nvext: [] }, "must be an object"],
  ["format", { format: "yaml" }, 'must be "json", or a JSON schema'],
  ["format", { format: 5 }, 'must be "json", or a JSON schema'],
  [
    "json_schema",
    { json_schema: schema, guided_json: schema },
    "must not stand beside guided_json",
  ],
  ["guided_choice", { guided_choice: 5 }, "must be an array of strings"],
  ["guided_choice[1]", { guided_choice: ["yes", 5] }, "must be a string"],
  ["structured_outputs.choice[0]", { structured_outputs: { choice: [""] } }, "must not be empty"],
  ["guided_regex", { guided_regex: 5 }, "must be a string"],
  ["grammar", { grammar: {} }, "must be a string"],
  ["regex", { regex: "a+", guided_choice: texts }, "must not stand beside guided_choice"],
  [
    "guided_regex",
    { guided_regex: "a+", guided_json: schema },
    "must not stand beside guided_json",
  ],
  ["ebnf", { ebnf: "x".repeat(131073) }, "must be of at most 131072 characters"],
])("422 by the client's name of the field: %s %j", async (param, more, message) => {
  const { post } = await serveChat(says("Hi"));
  for (const [path, body] of bodies(more)) {
    const answer = await post(path, body);
    expect(answer.status).toBe(422);
    const { error } = await json(answer);
    expect(error).toMatchObject({ param, message: expect.stringContaining(message) });
  }
});

test.each([
  [
    completions,
    "guided_json",
    "response_format",
    hello({ response_format: asObject, guided_json: schema }),
  ],
  [
    completions,
    "structured_outputs.json_object",
    "response_format",
    hello({
      response_format: { type: "json_object" },
      structured_outputs: { json_object: true },
    }),
  ],
  [
    responses,
    "guided_json",
    "text.format",
    { input: "Hi", text: { format: { type: "json_object" } }, guided_json: schema },
  ],
])("422 of two forms: %s %s", async (path, param, other, body) => {
  const { post } = await serveChat(says("Hi"));
  const answer = await post(path, body);
  expect(answer.status).toBe(422);
  expect((await json(answer)).error).toMatchObject({
    param,
    message: expect.stringContaining(`must not stand beside ${other}`),
  });
});

test.each([
  ["response_format.schema", { type: "json_object", schema: "no" }],
  ["response_format.value", { type: "json", value: "no" }],
  ["response_format.regex", { type: "regex" }],
  ["response_format.value", { type: "regex", value: 5 }],
])("422 of a schema beside the type: %s", async (param, response_format) => {
  const { post } = await serveChat(says("Hi"));
  const answer = await post(completions, hello({ response_format }));
  expect(answer.status).toBe(422);
  expect((await json(answer)).error).toMatchObject({ param });
});

const ofChoice = { type: "choice", choice: texts };
const ofRegex = { type: "regex", regex: "a+" };
const ofGrammar = { type: "grammar", grammar: "root ::= a" };

describe("a text of a form", () => {
  test.each([
    [{ guided_choice: texts }, ofChoice],
    [{ guided_regex: "a+" }, ofRegex],
    [{ guided_grammar: "root ::= a" }, ofGrammar],
    [{ structured_outputs: { choice: texts } }, ofChoice],
    [{ structured_outputs: { regex: "a+" } }, ofRegex],
    [{ structured_outputs: { grammar: "root ::= a" } }, ofGrammar],
    [{ nvext: { guided_choice: texts } }, ofChoice],
    [{ nvext: { guided_regex: "a+", guided_choice: [] } }, ofRegex],
    [{ grammar: "root ::= a" }, ofGrammar],
    [{ regex: "a+" }, ofRegex],
    [{ ebnf: "root ::= a" }, ofGrammar],
  ])("%j", async (more, format) => {
    for (const [path, body] of bodies(more)) expect(await formOf(path, body)).toMatchObject(format);
  });

  test.each([
    [{ type: "regex", value: "a+" }, ofRegex],
    [{ type: "regex", pattern: "a+" }, ofRegex],
    [ofRegex, ofRegex],
    [ofChoice, ofChoice],
    [ofGrammar, ofGrammar],
  ])("in the API's own field: %j", async (form, format) => {
    expect(await formOf(completions, hello({ response_format: form }))).toMatchObject(format);
  });

  test.each([ofRegex, ofChoice, ofGrammar])("in text.format: %j", async (format) => {
    const body = { input: "Hello", text: { format } };
    expect(await formOf(responses, body)).toMatchObject(format);
  });

  test.each([
    ["guided_choice", { guided_choice: texts }],
    ["structured_outputs.regex", { structured_outputs: { regex: "a+" } }],
    ["grammar", { grammar: "root ::= a" }],
  ])("400 of a model that knows schemas alone: %s", async (param, more) => {
    const { post } = await serve(
      scripted({ chat: says("Hi") }, [chatModel("chat-1", { supports: ["response_format"] })]),
    );
    for (const [path, body] of bodies(more)) {
      const answer = await post(path, body);
      expect(answer.status).toBe(400);
      const { error } = await json(answer);
      expect(error).toMatchObject({ code: "unsupported_parameter", param });
      expect(error.message).toBe(`${param}: this model does not support it`);
    }
  });
});

test.each([
  ["structural_tag", { structural_tag: "{}" }],
  ["structured_outputs.structural_tag", { structured_outputs: { structural_tag: "{}" } }],
])("400 of a form of parts: %s", async (param, more) => {
  const { post } = await serveChat(says("Hi"));
  for (const [path, body] of bodies(more)) {
    const answer = await post(path, body);
    expect(answer.status).toBe(400);
    const { error } = await json(answer);
    expect(error).toMatchObject({ code: "unsupported_parameter", param });
    expect(error.message).toContain("ask for a schema, a regex or a grammar");
  }
});

test.each([
  ["guided_decoding_backend", { guided_decoding_backend: "xgrammar" }],
  ["guided_whitespace_pattern", { guided_whitespace_pattern: " ?" }],
  ["structured_outputs.whitespace_pattern", { structured_outputs: { whitespace_pattern: " ?" } }],
  [
    "structured_outputs.disable_any_whitespace",
    { structured_outputs: { json: schema, disable_any_whitespace: true } },
  ],
])("what only tunes is dropped, and said: %s", async (param, more) => {
  for (const [path, body] of bodies(more)) {
    const { warnings } = await asked(path, body);
    expect(warnings).toEqual([`${param}: not supported, ignored`]);
  }
});

describe("of a model that can answer in no form", () => {
  const plain = () =>
    scripted({ chat: says("Hi") }, [chatModel("chat-1", { supports: ["temperature"] })]);

  test.each([
    ["guided_json", { guided_json: schema }],
    ["structured_outputs.json", { structured_outputs: { json: schema } }],
    ["format", { format: "json" }],
  ])("it is refused by the client's name: %s", async (param, more) => {
    const { post } = await serve(plain());
    for (const [path, body] of bodies(more)) {
      const answer = await post(path, body);
      expect(answer.status).toBe(400);
      expect((await json(answer)).error).toMatchObject({ code: "unsupported_parameter", param });
    }
  });

  test("the operator may have it ignored", async () => {
    const { post } = await serve(plain(), {
      core: { models: [{ name: "chat-1", unsupported: "ignore" }] },
    });
    for (const [path, body] of bodies({ guided_json: schema })) {
      const answer = await post(path, body);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("x-lintel-warnings")).toMatch(/^guided_json: /);
    }
  });
});
