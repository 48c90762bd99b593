/** Tools without parameters, and `strict`, which only some OpenAI-compatible servers take. */
import { describe, expect, it } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { bodies } from "./ai-sdk-calls.js";
import { backendFor, chatRequest, echo } from "./openai-subject.js";
import { format, schema, weather } from "./openai-tools-asked.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

type Body = ReturnType<typeof bodies>[number];

/** A server that refuses some requests so. */
const refusing =
  (isWrong: (body: Body) => boolean, error: object, status = 400): Script =>
  (exchange) =>
    isWrong(exchange.json()) ? exchange.sendJson(status, error) : echo(exchange);

async function asked(
  script: Script,
  request: Partial<LLMRequest>,
  warnings: readonly string[] = [],
) {
  const server = await serve(script);
  const backend = opened(backendFor(server.url));
  for (let i = 0; i < 2; i++) {
    const call = callOf("chat", chatRequest(request));
    for await (const _ of backend.handlers.chat?.(call) ?? []);
    expect([...call.warnings]).toEqual(warnings);
  }
  return bodies(server);
}

const missing = (...loc: (string | number)[]) => ({
  detail: [{ type: "missing", loc, msg: "Field required", input: { name: "now" } }],
});
const extra = (...loc: (string | number)[]) => ({
  detail: [{ type: "extra_forbidden", loc, msg: "Extra inputs are not permitted", input: true }],
});

describe("a tool without parameters", () => {
  type Tools = readonly { function: { parameters?: object } }[];
  const isBare = ({ tools }: Body) =>
    (tools as Tools).some(({ function: { parameters } }) => parameters === undefined);
  const tools = [weather({ name: "now", parameters: "" }), weather()];

  it.each([
    ["TabbyAPI", 422, missing("body", "tools", 0, "function", "parameters")],
    [
      "Mistral",
      422,
      {
        object: "error",
        message: missing("body", "tools", 0, "function", "parameters"),
        type: "invalid_request_error",
        param: null,
        code: null,
      },
    ],
    [
      "Rust's",
      400,
      { error: { message: "tools[0].function: missing field `parameters` at line 1" } },
    ],
  ])(
    "has an object without any before a server that requires them: %s",
    async (_, status, error) => {
      const all = await asked(refusing(isBare, error, status), { tools });
      expect(all).toHaveLength(3);
      for (const body of all.slice(1)) {
        expect((body.tools as Tools).map((tool) => tool.function.parameters)).toEqual([
          { type: "object", properties: {} },
          schema,
        ]);
      }
    },
  );
});

describe("strict", () => {
  const isStrict = (body: Body) => JSON.stringify(body).includes('"strict"');

  it.each([
    ["pydantic's", 400, extra("body", "tools", 0, "function", "strict")],
    [
      "in words",
      400,
      { error: { message: "tools[0].function.strict: Extra inputs are not permitted" } },
    ],
    ["Go's", 400, { error: { message: 'json: unknown field "strict"' } }],
  ])("is left out before a server that does not know it: %s", async (_, status, error) => {
    const request = {
      tools: [weather({ strict: true })],
      responseFormat: format("json_schema", {
        ...{ name: "n", description: "", schema: JSON.stringify(schema), strict: true },
      }),
    };
    const warnings = ["strict: not supported by this model, ignored"];
    const all = await asked(refusing(isStrict, error, status), request, warnings);
    expect(all.map(isStrict)).toEqual([true, false, false]);
    expect(all.at(-1)).toMatchObject({ response_format: { json_schema: { name: "n", schema } } });
  });

  it("is not blamed for a schema that it does not allow", async () => {
    const message =
      "Invalid schema for function 'weather': In context=(), 'additionalProperties' is required to be supplied and to be false.";
    const script = refusing(isStrict, { error: { message, param: "tools[0].parameters" } });
    const request = { tools: [weather({ strict: true })] };
    await expect(asked(script, request)).rejects.toMatchObject({ code: "invalid_value" });
  });
});
