/** Numbers that JavaScript has none for, in what is handed on as a text. */
import { execFileSync } from "node:child_process";
import { describe, expect, test, vi } from "vitest";
import { jsonText } from "../../src/core/long-numbers.js";
import { fields } from "../../src/doors/json/known.js";
import { putBack } from "../../src/doors/json/long-numbers.js";
import { says, scripted } from "../support/scripted.js";
import { asked } from "./asked.js";
import { serve } from "./serve.js";

/** Its form is kept, but for blanks, and numbers that JavaScript has are as it writes them. */
const written =
  '{"id": 1234567890123456789, "in": [{"a": -98765432109876543210, "9": "1234567890123456789"}], "safe": 9007199254740991, "f": 1.50, "most": [9007199254740993, 1e400, -0, -0.0, 9007199254740993.0], "t": "\\"1234567890123456789: \\\\"}';
const kept =
  '{"id":1234567890123456789,"in":[{"9":"1234567890123456789","a":-98765432109876543210}],"safe":9007199254740991,"f":1.5,"most":[9007199254740993,1e400,-0,-0.0,9007199254740993.0],"t":"\\"1234567890123456789: \\\\"}';

const messages = (input: string, more = "") =>
  `{"model":"chat-1","max_tokens":9,${more}"messages":[{"role":"user","content":"Hi"},
    {"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"a","name":"f","input":${input}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"b"}]}]}`;

const contents = (args: string, response: string) =>
  `{"contents":[{"role":"user","parts":{"text":"Hi"}},
    {"role":"model","parts":[{"function_call":{"name":"f","args":${args}}}]},
    {"role":"user","parts":[{"functionResponse":{"name":"f","response":${response}}}]}]}`;

const generate = "/v1beta/models/chat-1:generateContent";

describe("keep their digits in a conversation", () => {
  test("of Anthropic's clients", async () => {
    const { request } = await asked("/v1/messages", messages(written));
    expect(request.messages[1]?.toolCalls[0]?.function?.arguments).toBe(kept);
  });

  test("of Google's clients", async () => {
    const alone = '{"result": 1234567890123456789}';
    const { request } = await asked(generate, contents(written, alone));
    expect(request.messages[1]?.toolCalls[0]?.function?.arguments).toBe(kept);
    expect(request.messages[2]?.content).toBe('{"result":1234567890123456789}');
  });
});

test.each(["1e400", "-1E+400", "-0"])("also %s alone, which has few digits", async (few) => {
  const input = `{"a":[${few}]}`;
  const claude = await asked("/v1/messages", messages(input));
  expect(claude.request.messages[1]?.toolCalls[0]?.function?.arguments).toBe(input);
  const gemini = await asked(generate, contents(input, "{}"));
  expect(gemini.request.messages[1]?.toolCalls[0]?.function?.arguments).toBe(input);
});

test("numbers that only look like one stay numbers", async () => {
  const input =
    '{"a":[0.12345678901234567890,-1.5e-7,1e-400,0,-0.5,9007199254740991],"b":1e20,"c":123456789012345678.5e1}';
  const { request } = await asked("/v1/messages", messages(input));
  expect(request.messages[1]?.toolCalls[0]?.function?.arguments).toBe(
    '{"a":[0.12345678901234568,-1.5e-7,0,0,-0.5,9007199254740991],"b":1e20,"c":123456789012345678.5e1}',
  );
});

test("one of millions of digits is put back as well", () => {
  const text = `{"a":{"b":${"1".repeat(6_000_000)}}}`;
  const json = JSON.parse(text);
  putBack(text, json, fields({ a: "verbatim" }));
  expect(jsonText(json) === text).toBe(true);
});

// So it does itself in a process that has made much of it.
test("one of millions of digits is none too many where V8 improves no code of expressions", () => {
  const built = new URL("../../dist/src/core/long-numbers.js", import.meta.url).href;
  const script = `
    const { asWritten, parseMarked } = await import(${JSON.stringify(built)});
    const text = '{"a":' + "1".repeat(6_000_000) + "}";
    console.log(asWritten(JSON.stringify(parseMarked(text))) === text);`;
  const args = ["--no-regexp-optimization", "--input-type=module", "--eval", script];
  expect(execFileSync(process.execPath, args, { encoding: "utf8" })).toBe("true\n");
});

test("what is no object is refused as ever", async () => {
  const server = await serve(scripted({ chat: says("Hi") }));
  const answer = await server.post("/v1/messages", messages("1234567890123456789"));
  expect(answer.status).toBe(422);
  expect(await answer.text()).toContain("messages[1].content[1].input: must be an object");
});

test("other fields are read as ever", async () => {
  const body = messages(written, '"temperature":0.10000000000000001,');
  expect((await asked("/v1/messages", body)).request.temperature).toBe(0.1);
  const server = await serve(scripted({ chat: says("Hi") }));
  const answer = await server.post("/llm", '{"messages":[],"seed":1234567890123456789}');
  expect(answer.status).toBe(422);
  expect(await answer.text()).toMatch(/seed[^}]*must be/);
});

test("lists in lists without end, with such an integer, are no trouble", async () => {
  const deep = `${"[".repeat(100_000)}1234567890123456789${"]".repeat(100_000)}`;
  const body = messages('{"id":1}', `"service_tier":${deep},`);
  const { request } = await asked("/v1/messages", body);
  expect(request.messages[1]?.toolCalls[0]?.function?.arguments).toBe('{"id":1}');
});

test("a body of which nothing is handed on as it was written is not parsed again: that takes longer than to read it", () => {
  const text = '{"a":{"b":1234567890123456789}}';
  const json = JSON.parse(text);
  const parse = vi.spyOn(JSON, "parse");
  putBack(text, json, fields({ a: fields({ b: true }) }));
  expect(parse).not.toHaveBeenCalled();
  putBack(text, json, fields({ a: "verbatim" }));
  expect(parse).toHaveBeenCalledOnce();
  parse.mockRestore();
});

describe("keep their digits in schemas", () => {
  const schema = `{"type":"object","properties":{"n":{"type":"integer","maximum":9223372036854775807,"not":{"const":1e400}}}}`;
  const fn = `{"name":"f","parameters":${schema}}`;
  const tools = `"tools":[{"type":"function","function":${fn}}]`;
  const said = `"messages":[{"role":"user","content":"Hi"}]`;
  const form = `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":${schema}}}`;

  test.each([
    ["/llm", `{${said},${tools},${form}}`],
    ["/v1/chat/completions", `{"model":"chat-1",${said},${tools},${form}}`],
    ["/lintel.v1.ChatService/Complete", `{${said},${tools},${form}}`],
    [
      "/v1/messages",
      `{"max_tokens":9,${said},"tools":[{"name":"f","input_schema":${schema}}],"output_config":{"format":{"type":"json_schema","schema":${schema}}}}`,
    ],
    [
      "/v1/responses",
      `{"input":"Hi","tools":[{"type":"function",${fn.slice(1)}],"text":{"format":{"type":"json_schema","name":"n","schema":${schema}}}}`,
    ],
  ])("of %s", async (path, body) => {
    const { request } = await asked(path, body);
    expect(request.tools[0]?.function?.parameters).toBe(schema);
    expect(request.responseFormat?.jsonSchema?.schema).toBe(schema);
  });

  const generate = (declared: string, generation: string) =>
    `{"contents":[{"parts":[{"text":"Hi"}]}],"tools":[{"functionDeclarations":[{"name":"f",${declared}:${schema}}]}],"generationConfig":{"responseMimeType":"application/json",${generation}}}`;

  test.each([
    ["as JSON has them", generate('"parametersJsonSchema"', `"responseJsonSchema":${schema}`)],
    ["as Google has them", generate('"parameters"', `"responseSchema":${schema}`)],
    [
      "as its newest clients have them",
      generate(
        '"parameters_json_schema"',
        `"responseFormat":{"text":{"mimeType":"application/json","schema":${schema}}}`,
      ),
    ],
  ])("of Google's clients, %s", async (_, body) => {
    const { request } = await asked("/v1beta/models/chat-1:generateContent", body);
    const { parameters } = request.tools[0]?.function ?? {};
    for (const told of [parameters, request.responseFormat?.jsonSchema?.schema]) {
      expect(told).toContain('"maximum":9223372036854775807');
      expect(told).toContain('"const":1e400');
      expect(JSON.parse(told ?? "")).toEqual(JSON.parse(schema));
    }
  });

  test("also where an answer repeats them", async () => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const body = `{"input":"Hi","tools":[{"type":"function",${fn.slice(1)}],"text":{"format":{"type":"json_schema","name":"n","schema":${schema}}}}`;
    const text = await (await server.post("/v1/responses", body)).text();
    expect(text).toContain(`"parameters":${schema}`);
    expect(text).toContain(`"schema":${schema}`);
  });

  test("and weights of LoRAs that are none are refused as ever", async () => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const answer = await server.post("/text-to-image", '{"prompt":"a","loras":{"a":1e400}}');
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining('"param":"loras"'),
    ]);
  });
});
