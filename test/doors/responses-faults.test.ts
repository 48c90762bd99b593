/** `POST /v1/responses`: what does not reach a backend, and why. */
import { describe, expect, test } from "vitest";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";
import { path } from "./responses-request.js";
import { json, serve, serveChat } from "./serve.js";

const input = "Hello";

const png = "data:image/png;base64,iVBORw0KGgo=";

describe("faults", () => {
  const call = { type: "function_call", call_id: "1", name: "f", arguments: "{}" };
  const user = { role: "user", content: "a" };
  const reasoning = { type: "reasoning", id: "rs_1" };
  const f = { type: "function", name: "f" };
  const search = { type: "web_search" };
  const within = { type: "namespace", name: "n" };
  const update = (more: object) => ({ type: "configuration_update", ...more });

  test.each([
    ["input", { model: "chat-1" }],
    ["input", { input: null, instructions: "Be kind", messages: [user] }],
    ["input", { input: 5 }],
    ["input", { input: [] }],
    ["input[0]", { input: ["a"] }],
    ["input[0].type", { input: [{ type: 5 }] }],
    ["input[1].tools", { input: [user, { type: "additional_tools" }] }],
    ["tools", { input: [user, { type: "additional_tools", tools: [f] }], tools: 5 }],
    [
      "input[1].tools[0].tools[1].name",
      {
        input: [
          user,
          { type: "additional_tools", tools: [{ ...within, tools: [f, { type: "function" }] }] },
        ],
      },
    ],
    ["input[1].text", { input: [user, { type: "configuration_update", text: 5 }] }],
    ["input[1].reasoning.effort", { input: [user, update({ reasoning: { effort: "huge" } })] }],
    ["input[1].text.format.type", { input: [user, update({ text: { format: { type: "xml" } } })] }],
    ["input[0].role", { input: [{ content: "a" }] }],
    ["input[0].content[0]", { input: [{ role: "user", content: [5] }] }],
    ["input[0].content", { input: [{ role: "user", content: 5 }] }],
    ["input[0].content[0].text", { input: [{ role: "user", content: [{ type: "input_text" }] }] }],
    [
      "input[0].content[0].text",
      { input: [{ role: "user", content: [{ type: "input_text", text: 5 }] }] },
    ],
    [
      "input[0].content[0].image_url",
      { input: [{ role: "user", content: [{ type: "input_image", image_url: 5 }] }] },
    ],
    [
      "input[1].content[1].file_url",
      {
        input: [
          user,
          {
            role: "user",
            content: [
              { type: "input_file", file_url: "https://example.com/a.pdf" },
              { type: "input_file", file_url: "x" },
            ],
          },
        ],
      },
    ],
    [
      "input[0].output[0].file_url",
      {
        input: [
          {
            ...{ type: "function_call_output", call_id: "1" },
            output: [{ type: "input_file", file_url: 5 }],
          },
        ],
      },
    ],
    [
      "input[0].content[0].file_data",
      {
        input: [
          {
            role: "user",
            content: [{ type: "input_file", file_data: "x", file_url: "https://a" }],
          },
        ],
      },
    ],
    [
      "input[0].content[0].image_url",
      { input: [{ role: "user", content: [{ type: "input_image", image_url: "x" }] }] },
    ],
    [
      "input[0].content[0].detail",
      {
        input: [
          { role: "user", content: [{ type: "input_image", image_url: png, detail: "all" }] },
        ],
      },
    ],
    ["instructions", { input, instructions: ["a"] }],
    [
      "input[2].content",
      { instructions: "a", input: [user, reasoning, { role: "user", content: 5 }] },
    ],
    ["input[2].name", { input: [user, call, { ...call, name: 5 }] }],
    ["input[2].arguments", { input: [reasoning, call, { ...call, arguments: {} }] }],
    ["input[0].call_id", { input: [{ ...call, call_id: 5 }] }],
    ["input[0].extra_content", { input: [{ ...call, extra_content: 5 }] }],
    [
      "input[1].output",
      { input: [call, { type: "function_call_output", call_id: "1", output: 5 }] },
    ],
    [
      "input[1].call_id",
      { input: [call, { type: "function_call_output", call_id: 5, output: "" }] },
    ],
    [
      "input[0].content",
      {
        input: [
          { role: "assistant", content: { toString: 1 } },
          ...[call, { role: "assistant", content: "a" }],
        ],
      },
    ],
    ["instructions", { input, instructions: 5 }],
    ["max_output_tokens", { input, max_output_tokens: 0 }],
    ["max_output_tokens", { input, max_output_tokens: "5" }],
    ["max_tokens", { input, max_tokens: 0 }],
    ["temperature", { input, temperature: 9 }],
    ["stream", { input, stream: "yes" }],
    ["tools", { input, tools: 5 }],
    ["tools[0]", { input, tools: ["f"] }],
    ["tools[2].name", { input, tools: [search, f, { type: "function", name: 5 }] }],
    ["tools[1].parameters", { input, tools: [search, { ...f, parameters: "{" }] }],
    [
      "tools[1].tools[1].name",
      { input, tools: [search, { ...within, tools: [search, { ...f, name: 5 }] }] },
    ],
    ["tools[0].type", { input, tools: [{ type: 5, name: "f" }] }],
    ["tool_choice", { input, tool_choice: "required" }],
    ["tool_choice.type", { input, tool_choice: "never" }],
    ["tool_choice.name", { input, tools: [f], tool_choice: { type: "function", name: "g" } }],
    ["tool_choice.name", { input, tools: [f], tool_choice: { type: "function" } }],
    ["text", { input, text: "plain" }],
    ["text.format", { input, text: { format: "text" } }],
    ["text.format.type", { input, text: { format: { type: "xml" } } }],
    ["text.format.grammar", { input, text: { format: { type: "grammar" } } }],
    ["text.format.name", { input, text: { format: { type: "json_schema", schema: {} } } }],
    [
      "text.format.schema",
      { input, text: { format: { type: "json_schema", name: "a", schema: "[" } } },
    ],
    ["metadata", { input, metadata: "a" }],
    ["metadata", { input, metadata: { a: 5 } }],
  ])("422 by the client's name of the field: %s %j", async (param, body) => {
    const { post } = await serveChat(says("Hi"));
    for (const stream of ["stream" in body ? body.stream : true, false]) {
      const response = await post(path, param === "stream" ? body : { ...body, stream });
      expect(response.status).toBe(422);
      const { error } = await json(response);
      expect(error.param).toBe(param);
      expect(error.message).toContain(`${param}: `);
    }
  });

  test("of a content it is said that it may have parts, of others not", async () => {
    const { post } = await serveChat(says("Hi"));
    const messageOf = async (body: object) => (await json(await post(path, body))).error.message;
    expect(await messageOf({ input: [{ role: "user", content: 5 }] })).toBe(
      "input[0].content: must be a string, or an array of parts",
    );
    expect(await messageOf({ input, instructions: 5 })).toBe("instructions: must be a string");
    expect(await messageOf({})).toBe("input: is required");
  });

  test("what is not looked at is named by its place at the client", async () => {
    const { post } = await serveChat(says("Hi"));
    const king = { role: "king", content: "" };
    const items = [reasoning, ...Array(12).fill(king)];
    const { error } = await json(await post(path, { input: items }));
    expect(error.message).toContain("input[8].role: ");
    expect(error.message).toContain("input: the items from 9 on were not checked");
  });

  test("tools that are not looked at are named by their place, too", async () => {
    const { post } = await serveChat(says("Hi"));
    const wrong = { ...f, name: 5 };
    const tools = [search, { ...within, tools: Array(9).fill(wrong) }, f];
    const { error } = await json(await post(path, { input, tools }));
    expect(error.message).toContain("tools[1].tools[7].name: ");
    expect(error.message).toContain("tools: the items from 1 on were not checked");
  });

  test("too many tools are not looked at", async () => {
    const { post } = await serveChat(says("Hi"));
    const many = Array(10_001).fill({});
    for (const tools of [many, [{ ...within, tools: many }]]) {
      const response = await post(path, { input, tools });
      expect((await json(response)).error.message).toBe(
        "tools: number of items must be at most 10000",
      );
    }
  });

  test("too many items are not looked at", async () => {
    const { post } = await serveChat(says("Hi"));
    for (const item of [{}, reasoning]) {
      const response = await post(path, { input: Array(10_001).fill(item) });
      expect((await json(response)).error.message).toBe(
        "input: number of items must be at most 10000",
      );
    }
  });

  test("what is refused is told once every field is well formed", async () => {
    const { post } = await serveChat(says("Hi"));
    const body = { input, background: true };
    expect((await post(path, { ...body, temperature: 9 })).status).toBe(422);
    expect((await post(path, body)).status).toBe(400);
  });

  test("what a model does not support is refused by the client's name", async () => {
    const { post } = await serve(
      scripted({ chat: says("Hi") }, [chatModel("chat-1", { supports: [] })]),
    );
    const format = { type: "json_object" };
    const response = await post(path, { input, text: { format } });
    expect(response.status).toBe(400);
    const { error } = await json(response);
    expect(error).toMatchObject({ code: "unsupported_parameter", param: "text.format" });
    expect(error.message).toMatch(/^text\.format: /);
  });

  test("nested too deeply to be repeated", async () => {
    const { post } = await serveChat(says("Hi"));
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    for (const [body, why] of [
      [
        `{"input":"a","tools":[{"type":"function","name":"f","parameters":${deep}}]}`,
        "tools[0].parameters: must have at most 1000 objects and lists within each other",
      ],
      [`{"input":"a","metadata":${deep}}`, expect.any(String)],
    ]) {
      const answer = await post(path, body);
      expect(answer.status).toBe(422);
      expect((await json(answer)).error.message).toEqual(why);
    }
  });

  test("a key that stands twice", async () => {
    const { post } = await serveChat(says("Hi"));
    const twice = (text: string) => post(path, `{"input":"a",${text}}`);
    for (const text of [
      '"stream":true,"stream":false',
      '"text":{"format":{"type":"text","type":"json_object"}}',
      '"tools":[{"type":"function","name":"f","name":"g"}]',
      '"user":"a","user":"b"',
    ]) {
      const response = await twice(text);
      expect(response.status).toBe(400);
      expect((await json(response)).error.code).toBe("invalid_json");
    }
    for (const name of ["store", "messages", "response_format"]) {
      expect((await twice(`"${name}":"a","${name}":"b"`)).status).toBe(200);
    }
  });

  test("a token is needed, before anything is read", async () => {
    const { post } = await serveChat(says("Hi"));
    const response = await post(path, "{", { authorization: "" });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
  });
});

describe("what was kept elsewhere", () => {
  test.each([
    ["GET", "/v1/responses/resp_1"],
    ["DELETE", "/v1/responses/resp_1"],
    ["GET", "/v1/responses/resp_1/input_items?limit=5"],
    ["POST", "/v1/responses/resp_1/cancel"],
    ["POST", "/v1/responses/compact"],
  ])("%s %s is a 404 that says that nothing is", async (method, at) => {
    const { url } = await serveChat(says("Hi"));
    const response = await fetch(url + at, { method, headers: { authorization: "Bearer me" } });
    expect(response.status).toBe(404);
    const { error } = await json(response);
    expect(error).toMatchObject({ code: "not_found" });
    expect(error.message).toMatch(/^nothing is kept here/);
  });

  test.each([
    ["GET", path],
    ["GET", `${path}/input_tokens`],
    ["DELETE", `${path}/input_tokens`],
    ["PUT", `${path}/input_tokens`],
  ])("another method of a path that there is: %s %s", async (method, at) => {
    const { url } = await serveChat(says("Hi"));
    const response = await fetch(url + at, { method, headers: { authorization: "Bearer me" } });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
  });
});
