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
  ["response_format.type", { type: "regex", value: "a+" }],
])("422 of a schema beside the type: %s", async (param, response_format) => {
  const { post } = await serveChat(says("Hi"));
  const answer = await post(completions, hello({ response_format }));
  expect(answer.status).toBe(422);
  expect((await json(answer)).error).toMatchObject({ param });
});

test.each([
  ["guided_choice", { guided_choice: ["yes", "no"] }],
  ["guided_regex", { guided_regex: "a+" }],
  ["guided_grammar", { guided_grammar: "root ::= a" }],
  ["structural_tag", { structural_tag: "{}" }],
  ["structured_outputs.choice", { structured_outputs: { choice: ["yes", "no"] } }],
  ["structured_outputs.regex", { structured_outputs: { regex: "a+" } }],
  ["structured_outputs.grammar", { structured_outputs: { grammar: "root ::= a" } }],
  ["structured_outputs.structural_tag", { structured_outputs: { structural_tag: "{}" } }],
  ["nvext.guided_choice", { nvext: { guided_choice: ["yes", "no"] } }],
  ["grammar", { grammar: "root ::= a" }],
  ["regex", { regex: "a+" }],
  ["ebnf", { ebnf: "root ::= a" }],
])("400 of another form than a schema's: %s", async (param, more) => {
  const { post } = await serveChat(says("Hi"));
  for (const [path, body] of bodies(more)) {
    const answer = await post(path, body);
    expect(answer.status).toBe(400);
    const { error } = await json(answer);
    expect(error).toMatchObject({ code: "unsupported_parameter", param });
    expect(error.message).toContain(`${param}: `);
    expect(error.message).toContain("JSON schema");
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
