/** The OpenAPI document says what REST takes and answers: it is held against the contract's table. */
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { progressEvent } from "../../src/core/image-events.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { tableBackend, tableSettings } from "../contract/backend.js";
import { type Case, chatCases, imageCases } from "../contract/cases.js";
import { events, type Json, post } from "../contract/wire.js";
import { type Lintel, startLintel } from "../support/lintel.js";
import { callsTools, paints, png, scripted, thinks, thought } from "../support/scripted.js";
import { document, faultsOf, faultsOfAnswer } from "./openapi-document.js";
import { hello, json, serve } from "./serve.js";

/** What a schema can't say: what depends on the model, and on other fields. */
const beyond: ReadonlySet<string> = new Set([
  "max_tokens above the model's cap",
  "too many prompts",
  "top_logprobs without logprobs",
  "no token, and a wrong field",
  "a token that may be used elsewhere, and a wrong field",
]);

const ways: [
  path: string,
  request: string,
  answer: string,
  event: string,
  cases: readonly Case<Json>[],
][] = [
  ["/llm", "LLMRequest", "Completion", "CompletionChunk", chatCases],
  ["/text-to-image", "TextToImageRequest", "Images", "ImageEvent", imageCases],
];

describe.each(ways)("POST %s", (path, asked, answered, event, cases) => {
  let lintel: Lintel;
  beforeAll(async () => {
    lintel = await startLintel([tableBackend()], { settings: tableSettings });
  });
  afterAll(() => lintel.close());

  it.each(cases.filter(({ name }) => !beyond.has(name)))(
    "refuses what its schema does: $name",
    ({ request, expected }) => {
      const refused = expected.error?.code === "invalid_fields";
      expect(faultsOf(asked, request).length > 0).toBe(refused);
    },
  );

  it.each(cases)("answers as it is described: $name", async ({ request, token }) => {
    const answer = await post(lintel.url, path, request, token);
    expect(Object.keys(document.paths[path].post.responses)).toContain(String(answer.status));
    expect(faultsOfAnswer(answer.ok ? answered : "Error", await answer.json())).toEqual([]);
  });

  it.each(cases)("streams as it is described: $name", async ({ request, token }) => {
    const answer = await post(lintel.url, path, { ...request, stream: true }, token);
    const all = answer.ok ? await events(answer) : [];
    for (const one of all) expect(faultsOfAnswer(event, one)).toEqual([]);
    if (!answer.ok) expect(faultsOfAnswer("Error", await answer.json())).toEqual([]);
  });
});

test.each([
  [
    "thoughts",
    thinks([thought("Hm, ", '[{"type":"reasoning.text","text":"Hm, "}]'), thought("so.")], "42"),
  ],
  [
    "calls",
    callsTools(
      [toolCall(0, "a", "weather", "", '{"google":{"thought_signature":"x"}}')],
      [toolCall(0, "", "", '{"city":"Rome"}'), toolCall(1, "b", "time", "{}")],
    ),
  ],
])("%s are described, whole and in chunks, and with the totals at the end", async (_, chat) => {
  const server = await serve(scripted({ chat }));
  const whole = await json(await server.post("/llm", hello()));
  expect(faultsOfAnswer("Completion", whole)).toEqual([]);
  // What was answered can be said again.
  const next = hello({ messages: [{ role: "user", content: "a" }, whole.choices[0].message] });
  expect(faultsOf("LLMRequest", next)).toEqual([]);
  for (const include_usage of [false, true]) {
    const asked = hello({ stream: true, stream_options: { include_usage } });
    expect(faultsOf("LLMRequest", asked)).toEqual([]);
    for (const chunk of await events(await server.post("/llm", asked))) {
      expect(faultsOfAnswer("CompletionChunk", chunk)).toEqual([]);
    }
  }
});

test("what stands in requests in two forms is described in both", () => {
  const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
  const schema = { type: "object" };
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
  const written = [
    hello({ stop: "x", tool_choice: "auto", response_format: { type: "json_object" } }),
    hello({ stop: ["x", "y"], tool_choice: { type: "function", function: { name: "f" } } }),
    hello({ tools: [{ type: "function", function: { name: "f", parameters: schema } }] }),
    hello({ tools: [{ function: { name: "f", parameters: JSON.stringify(schema) } }] }),
    hello({ messages: [{ role: "user", content: [{ type: "text", text: "a" }, image] }] }),
    hello({
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: "", tool_calls: [call], reasoning_details: [{ a: 1 }] },
        { role: "tool", tool_call_id: "a", content: "b" },
      ],
    }),
  ];
  for (const request of written) expect(faultsOf("LLMRequest", request)).toEqual([]);
  for (const loras of ['{"style":0.8}', { style: 0.8 }]) {
    expect(faultsOf("TextToImageRequest", { prompt: "a", loras })).toEqual([]);
  }
  expect(faultsOf("LLMRequest", hello({ stop: 5 }))).not.toEqual([]);
  expect(faultsOf("LLMRequest", hello({ stop: "" }))).not.toEqual([]);
  expect(faultsOf("LLMRequest", hello({ tool_choice: "some" }))).not.toEqual([]);
  expect(faultsOf("TextToImageRequest", { prompt: "a", width: 100 })).not.toEqual([]);
});

test("events with a queue and with previews are described", async () => {
  const backend = scripted({
    async *streamTextToImage(call) {
      yield [progressEvent({ index: 0, images: 1, step: 0, steps: 2, queuePosition: 3 })];
      for await (const batch of paints()(call)) {
        for (const { event } of batch) {
          if (event.case === "progress") event.value.preview = png(1);
        }
        yield batch;
      }
    },
  });
  const server = await serve(backend);
  const asked = { prompt: "a", stream: true, include_previews: true };
  const all = await events(await server.post("/text-to-image", asked));
  expect(all.some((one) => one.queue_position === 3)).toBe(true);
  expect(all.some((one) => one.preview)).toBe(true);
  for (const one of all) expect(faultsOfAnswer("ImageEvent", one)).toEqual([]);
});

test.each([
  ["/v1/models", "Models"],
  ["/account", "Account"],
  ["/healthz", "Health"],
  ["/readyz", "Health"],
  ["/account?user=a&user=b", "Error"],
])("GET %s is described", async (path, schema) => {
  const server = await serve(scripted({}));
  const answer = await json(await server.get(path));
  expect(faultsOfAnswer(schema, answer)).toEqual([]);
  expect(document.paths[path.replace(/\?.*/, "")].get.responses).toBeDefined();
});

test("it is what OpenAPI 3.1 allows, and each part of it that is referred to is there", async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(document));
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  expect(() => validator.resolveRefs()).not.toThrow();
});

test("each member is described, but where its name says it all", () => {
  const silent: string[] = [];
  for (const [name, { properties = {} }] of Object.entries<Json>(document.components.schemas)) {
    for (const [member, form] of Object.entries<Json>(properties)) {
      const obvious =
        form.$ref || form.const || ["msg", "status", "reason", "owned_by"].includes(member);
      if (!form.description && !obvious) silent.push(`${name}.${member}`);
    }
  }
  expect(silent).toEqual([]);
});

test("it is served, without a token", async () => {
  const server = await serve(scripted({}));
  const answer = await fetch(`${server.url}/openapi.json`);
  expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(await answer.json()).toEqual(document);
});
