/** Keywords of JSON Schema that a server refuses, in schemas of tools and of the answer. */
import { describe, expect, it } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { functionTool } from "../support/tools.js";
import { asked, bodies } from "./ai-sdk-calls.js";
import { compatibleAt } from "./ai-sdk-subject.js";
import { backendFor, echo } from "./openai-subject.js";
import { format } from "./openai-tools-asked.js";
import { opened, serve } from "./serve.js";
import type { Script } from "./upstream.js";

/** What a server does not take of schemas, and how it says so of some. */
interface Refusing {
  readonly keywords: readonly string[];
  readonly status?: number;
  says(found: readonly string[]): object;
}

const error = (message: string) => ({ error: { message, type: "invalid_request_error" } });

/** Keywords as they stand in a schema, not names of properties. */
function keywordsIn(schema: unknown): string[] {
  if (Array.isArray(schema)) return schema.flatMap(keywordsIn);
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([name, value]) => [
    name,
    ...(/^(?:properties|\$defs)$/.test(name)
      ? Object.values(value).flatMap(keywordsIn)
      : keywordsIn(value)),
  ]);
}

const refusing =
  ({ keywords, status = 400, says }: Refusing): Script =>
  (exchange) => {
    const { tools = [], response_format } = exchange.json();
    const schemas = tools.map(
      (tool: { function: { parameters: object } }) => tool.function.parameters,
    );
    const all = keywordsIn([...schemas, response_format?.json_schema?.schema]);
    const found = keywords.filter((name) => all.includes(name));
    return found.length > 0 ? exchange.sendJson(status, says(found)) : echo(exchange);
  };

const schema = {
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "object",
  properties: {
    // Names of properties are no keywords.
    format: { type: "string", const: "iso", title: "Format" },
    at: { type: "string", format: "uri", pattern: "^h", default: "h" },
    count: { type: "integer", exclusiveMinimum: 0, maximum: 9007199254740992 },
    kind: { oneOf: [{ type: "string" }, { type: "null" }] },
    more: { type: "object", propertyNames: { pattern: "^x" } },
  },
  required: ["format"],
  additionalProperties: false,
};
// As it was written: JavaScript rounds it.
const written = JSON.stringify(schema).replace("9007199254740992", "9007199254740993");

const request: Partial<LLMRequest> = { tools: [functionTool("find", written)] };

type Backend = ReturnType<typeof backendFor>;

/** Asks twice, in a stream and whole: the second time nothing has to be refused any more. */
async function twice(
  script: Script,
  more: object = request,
  at: (url: string) => Backend = backendFor,
) {
  const server = await serve(script);
  const backend = opened(at(server.url));
  const all: (readonly string[])[] = [];
  for (const method of ["chat", "complete"] as const) {
    const { code, warnings } = await asked(backend, method, more);
    expect(code).toBe("ok");
    all.push(warnings);
  }
  expect(all[1]).toEqual(all[0]);
  const told = bodies(server);
  expect(told.at(-1).tools).toEqual(told.at(-2).tools);
  return { warnings: all[0] ?? [], told, raw: String(server.requests.at(-1)?.body) };
}

const lost = (name: string, field = "tools") =>
  `${field}: ${name} in schemas is not supported by this model, ignored`;

const google = (found: readonly string[]) => [
  {
    error: {
      code: 400,
      message: found
        .map(
          (name) =>
            `Invalid JSON payload received. Unknown name "${name}" at 'tools[0].function_declarations[0].parameters.properties[2].value': Cannot find field.`,
        )
        .join("\n"),
      status: "INVALID_ARGUMENT",
    },
  },
];

const first =
  (say: (name: string) => string) =>
  ([name = ""]: readonly string[]) =>
    error(say(name));

describe("keywords that a server refuses", () => {
  it("are left out at once where Google's endpoint names them all", async () => {
    const keywords = [
      "$schema",
      "const",
      "exclusiveMinimum",
      "propertyNames",
      "additionalProperties",
    ];
    const { told, warnings, raw } = await twice(refusing({ keywords, says: google }));
    expect(told).toHaveLength(3);
    expect(told[1].tools[0].function.parameters).toEqual({
      type: "object",
      properties: {
        format: { type: "string", enum: ["iso"], title: "Format" },
        at: schema.properties.at,
        count: { type: "integer", maximum: Number("9007199254740993") },
        kind: schema.properties.kind,
        more: { type: "object" },
      },
      required: ["format"],
    });
    expect(raw).toContain('"maximum":9007199254740993');
    expect(warnings).toEqual([
      lost("exclusiveMinimum"),
      lost("propertyNames"),
      lost("additionalProperties"),
    ]);
  });

  const words: readonly (readonly [string, Refusing["says"]])[] = [
    [
      "OpenAI",
      first(
        (name) =>
          `Invalid schema for function 'find': In context=('properties', 'at'), '${name}' is not permitted.`,
      ),
    ],
    [
      "a list",
      (found) =>
        error(`Unsupported JSON schema fields: ${found.map((name) => `'${name}'`).join(", ")}`),
    ],
    [
      "Cerebras",
      (found) =>
        error(
          `Invalid fields for schema with types ['string']: {${found.map((name) => `'${name}'`).join(", ")}}`,
        ),
    ],
    [
      "Anthropic",
      (found) =>
        error(
          `tools.0.custom: For 'string' type, properties ${found.join(", ")} are not supported`,
        ),
    ],
    [
      "a list behind",
      (found) =>
        error(`These keywords are not supported: ${found.map((name) => `"${name}"`).join(", ")}`),
    ],
    ["Groq", first((name) => `keyword '${name}' not supported in schema`)],
    [
      "Moonshot",
      first(
        (name) =>
          `tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.at': unsupported keyword \`${name}\`>`,
      ),
    ],
    [
      "a proxy before Google",
      (found) => error(`litellm.BadRequestError: b'${JSON.stringify(google(found))}'`),
    ],
    [
      "Gemini",
      first(
        (name) =>
          `* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[at].${name}: only 'enum' and 'date-time' are supported for STRING type`,
      ),
    ],
    [
      "a check in Python",
      ([name]) => ({
        detail: [
          {
            type: "extra_forbidden",
            loc: ["body", "tools", 0, "function", "parameters", name],
            msg: "Extra inputs are not permitted",
          },
        ],
      }),
    ],
  ];

  it.each(words)(
    "are left out in the words of %s, each in turn or all at once",
    async (name, says) => {
      const status = name === "a check in Python" ? 422 : 400;
      const { told, warnings } = await twice(
        refusing({ keywords: ["format", "pattern"], status, says }),
      );
      const { at, format: kept } = told.at(-1).tools[0].function.parameters.properties;
      expect(at).toEqual({ type: "string", default: "h" });
      expect(kept).toEqual(schema.properties.format);
      expect(told.length).toBeLessThanOrEqual(4);
      expect(warnings.toSorted()).toEqual([lost("format"), lost("pattern")]);
    },
  );

  it("are said in other words where there are some", async () => {
    const says = first((name) => `'${name}' is not permitted.`);
    const { told, warnings } = await twice(refusing({ keywords: ["oneOf", "x-order"], says }), {
      tools: [functionTool("find", { ...schema, "x-order": ["at"] })],
    });
    const { parameters } = told.at(-1).tools[0].function;
    expect(parameters.properties.kind).toEqual({ anyOf: schema.properties.kind.oneOf });
    expect(parameters["x-order"]).toBeUndefined();
    expect(warnings).toEqual([lost("oneOf")]);
  });

  it("stay in schemas that are not kept to by the letter, where others are", async () => {
    const strict = { strict: true };
    const says = first(
      (name) => `Invalid schema for function 'strict': '${name}' is not permitted.`,
    );
    const script: Script = (exchange) =>
      exchange.json().tools[0].function.parameters.properties.at.format
        ? exchange.sendJson(400, says(["format"]))
        : echo(exchange);
    const tools = [functionTool("strict", written, strict), functionTool("loose", written)];
    const { told } = await twice(script, { tools });
    const formats = (body: { tools: { function: { parameters: typeof schema } }[] }) =>
      body.tools.map((tool) => tool.function.parameters.properties.at.format);
    expect(told.map(formats)).toEqual([
      ["uri", "uri"],
      [undefined, "uri"],
      [undefined, "uri"],
    ]);
  });

  it("are left out of the answer's schema", async () => {
    const says = first(
      (name) =>
        `Invalid schema for response_format 'n': In context=('properties', 'at'), '${name}' is not permitted.`,
    );
    const { told, warnings } = await twice(refusing({ keywords: ["pattern"], says }), {
      responseFormat: format("json_schema", {
        ...{ name: "n", description: "", schema: written, strict: true },
      }),
    });
    expect(told.at(-1).response_format.json_schema.schema.properties.at).toEqual({
      ...{ type: "string", format: "uri", default: "h" },
    });
    expect(warnings).toEqual([lost("pattern", "response_format")]);
  });

  const grammar = () => error("Failed to initialize samplers: failed to parse grammar");

  it("are left out of what llama.cpp can make no grammar of, which says no more", async () => {
    const { told, warnings } = await twice(refusing({ keywords: ["pattern"], says: grammar }));
    const { at, count } = told.at(-1).tools[0].function.parameters.properties;
    expect(at).toEqual({ type: "string", format: "uri", default: "h" });
    expect(count).toMatchObject({ exclusiveMinimum: 0 });
    expect(told).toHaveLength(3);
    expect(warnings).toEqual([lost("pattern")]);
  });

  it("are left out of it group by group, as long as there are some", async () => {
    const long = { type: "string", pattern: "^a", maxLength: 65536 };
    const properties = { a: { type: "array", items: long }, b: { type: "integer", minimum: 1 } };
    const more = { tools: [functionTool("find", { type: "object", properties })] };
    const { told } = await twice(refusing({ keywords: ["maxLength"], says: grammar }), more);
    expect(told).toHaveLength(4);
    expect(told.at(-1).tools[0].function.parameters.properties).toEqual({
      a: { type: "array", items: { type: "string" } },
      b: { type: "integer", minimum: 1 },
    });
  });

  it("are not left out for ever where a grammar fails without them, too", async () => {
    const server = await serve((exchange) => exchange.sendJson(400, grammar()));
    const backend = opened(backendFor(server.url));
    for (const count of [4, 8]) {
      expect(await asked(backend, "complete", request)).toMatchObject({ code: "invalid_value" });
      expect(bodies(server)).toHaveLength(count);
    }
  });

  it("are left out behind providers of the AI SDK, too", async () => {
    const { told, warnings } = await twice(
      refusing({ keywords: ["$schema", "exclusiveMinimum"], says: google }),
      request,
      compatibleAt,
    );
    expect(told).toHaveLength(3);
    expect(told.at(-1).tools[0].function.parameters.properties.count).toHaveProperty("maximum");
    expect(warnings).toEqual([lost("exclusiveMinimum")]);
  });
});

describe("references that a server refuses", () => {
  const says = google;
  const keywords = ["$ref", "$defs"];
  const place = { type: "object", properties: { name: { $ref: "#/$defs/name" } } };
  const document = {
    type: "object",
    properties: { from: { $ref: "#/$defs/place", description: "Where" }, $ref: { type: "string" } },
    $defs: { place, name: { type: "string" } },
  };

  it("stand for what they mean", async () => {
    const { told, warnings } = await twice(refusing({ keywords, says }), {
      tools: [functionTool("go", document)],
    });
    expect(told.at(-1).tools[0].function.parameters).toEqual({
      type: "object",
      properties: {
        from: { type: "object", properties: { name: { type: "string" } }, description: "Where" },
        $ref: { type: "string" },
      },
    });
    expect(warnings).toEqual([]);
  });

  it("are left out with a warning where they have no end, and where they grow too much", async () => {
    const $defs: Record<string, object> = {
      tree: { type: "array", items: { $ref: "#/$defs/tree" } },
    };
    for (let i = 0; i < 40; i++) {
      const $ref = `#/$defs/d${i + 1}`;
      $defs[`d${i}`] = { type: "object", properties: { a: { $ref }, b: { $ref } } };
    }
    // Each as deep as a schema may be.
    for (let i = 0; i < 100; i++) {
      const end = `{"$ref":"#/$defs/e${i + 1}"}`;
      $defs[`e${i}`] = JSON.parse(`${'{"items":'.repeat(990)}${end}${"}".repeat(990)}`);
    }
    const properties = {
      deep: { $ref: "#/$defs/e0" },
      tree: { $ref: "#/$defs/tree" },
      wide: { $ref: "#/$defs/d0" },
    };
    const { told, warnings, raw } = await twice(refusing({ keywords, says }), {
      tools: [functionTool("go", { type: "object", properties, $defs })],
    });
    const { parameters } = told.at(-1).tools[0].function;
    expect(parameters.properties.tree).toEqual({ type: "array", items: {} });
    expect(raw.length).toBeLessThan(500_000);
    expect(raw.match(/"items":/g)?.length).toBe(991);
    expect(warnings).toEqual([lost("$ref")]);
  });
});

describe("what is no refusal of a keyword", () => {
  it.each([
    "Invalid schema for function 'find': In context=(), 'additionalProperties' is required to be supplied and to be false.",
    "Invalid schema for function 'find': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.",
    "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
    "The format of this request is not supported",
    "Parameter 'format' of find must be one of 'a'",
  ])("takes nothing out: %s", async (message) => {
    const server = await serve((exchange) => exchange.sendJson(400, error(message)));
    const { code } = await asked(opened(backendFor(server.url)), "complete", request);
    expect([code, server.requests.length]).toEqual(["invalid_value", 1]);
  });

  it("comes to an end where a server refuses ever more", async () => {
    const properties = Object.fromEntries(
      [
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "uniqueItems",
        "contains",
        "not",
        "if",
        "then",
        "else",
        "allOf",
        "anyOf",
        "oneOf",
        "multipleOf",
      ].map((name) => [name, { [name]: [] }]),
    );
    const server = await serve((exchange) => {
      const [name = ""] = keywordsIn(
        exchange.json().tools[0].function.parameters.properties.at ??
          Object.values(exchange.json().tools[0].function.parameters.properties),
      );
      return exchange.sendJson(400, error(`'${name}' is not permitted.`));
    });
    const { code } = await asked(opened(backendFor(server.url)), "complete", {
      tools: [functionTool("find", { type: "object", properties })],
    });
    expect([code, server.requests.length]).toEqual(["invalid_value", 17]);
  });
});
