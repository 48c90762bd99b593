/** Requests of Anthropic's Messages API that are refused, and why. */
import { expect, test } from "vitest";
import { says, scripted } from "../support/scripted.js";
import { ask, hello, path, text } from "./messages-request.js";
import { json, serve } from "./serve.js";

const user = (...content: unknown[]) => ask({ role: "user", content });
const assistant = (...content: unknown[]) => ask({ role: "assistant", content });
const picture = (type: string) => ({
  type: "image",
  source: { type, url: "https://example.com/a" },
});
const source = (it: unknown) => user({ type: "image", source: it });

test.each<[string, object]>([
  ["tools[0].input_examples", hello({ tools: [{ name: "f", input_examples: ["a"] }] })],
  ["messages", { max_tokens: 5 }],
  ["messages", { messages: {} }],
  ["messages", { messages: [], system: "Be brief." }],
  ["messages", ask(...Array.from({ length: 10_001 }, () => ({ role: "user", content: "a" })))],
  [
    "messages[0].content",
    assistant(
      ...Array.from({ length: 10_001 }, () => ({
        type: "tool_use",
        id: "a",
        name: "f",
        input: {},
      })),
    ),
  ],
  ["messages[0].role", ask({ role: "king", content: "a" })],
  ["messages[0].content", ask({ role: "user", content: 5 })],
  ["messages[0].content[0]", user("a")],
  ["messages[0].content[0].type", user({ text: "a" })],
  ["messages[0].content[1].text", user({ type: "text", text: "a" }, { type: "text" })],
  ["system", { ...hello(), system: [{ type: "text", text: { toString: 1 } }] }],
  [
    "messages[0].content[0].content[1].text",
    user({
      ...{ type: "tool_result", tool_use_id: "a" },
      content: [text("a"), { type: "text", text: { toString: 1 } }],
    }),
  ],
  [
    "messages[0].content[0].content[1].type",
    user({ type: "tool_result", tool_use_id: "a", content: [text("a"), { text: "b" }] }),
  ],
  [
    "messages[0].content[0].content[0]",
    user({ type: "tool_result", tool_use_id: "a", content: ["a"] }),
  ],
  [
    "messages[0].content[0].title",
    user({ type: "search_result", title: {}, source: "a", content: [text("a")] }),
  ],
  ["messages[0].content[0].title", user({ type: "search_result", source: "a", content: [] })],
  [
    "messages[0].content[0].content[0].tool_name",
    user({ type: "tool_result", tool_use_id: "a", content: [{ type: "tool_reference" }] }),
  ],
  [
    "messages[0].content[0].content",
    user({ type: "search_result", source: "a", title: "b", content: "c" }),
  ],
  ["messages[0].content[0].source", source(5)],
  ["messages[0].content[0].source", source({ type: "base64", media_type: "image/png" })],
  [
    "messages[0].content[1].source",
    user(text("a"), { type: "document", source: { type: "base64" } }),
  ],
  [
    "messages[0].content[1].source",
    user(text("a"), { type: "image", source: { type: "url", url: "ftp://a/b" } }),
  ],
  [
    "messages[0].content[1].source.data",
    user(text("a"), { type: "document", source: { type: "text", media_type: "text/plain" } }),
  ],
  [
    "messages[0].content[0].source.content",
    user({ type: "document", source: { type: "content", content: 5 } }),
  ],
  ["messages[0].content[1].text", user(picture("url"), { type: "text", text: 5 })],
  ["messages[0].content[0].tool_use_id", user({ type: "tool_result", content: "a" })],
  ["messages[0].content[0].content", user({ type: "tool_result", tool_use_id: "a", content: 5 })],
  [
    "messages[0].content[0].content[1]",
    user({ type: "tool_result", tool_use_id: "a", content: [text("b"), 5] }),
  ],
  ["messages[0].content[1].input", assistant(text("a"), { type: "tool_use", name: "f", input: 5 })],
  ["messages[0].content[0].name", assistant({ type: "tool_use", id: "a", name: 5, input: {} })],
  ["messages[0].content[0].thinking", assistant({ type: "thinking", signature: "a" })],
  ["messages[0].content[0].signature", assistant({ type: "thinking", thinking: "", signature: 5 })],
  ["messages[0].content[0].data", assistant({ type: "redacted_thinking" })],
  ["system", hello({ system: 5 })],
  ["system", hello({ system: [{ type: "image" }] })],
  ["stop_sequences[1]", hello({ stop_sequences: [".", ""] })],
  ["max_tokens", hello({ max_tokens: 0 })],
  ["thinking", hello({ thinking: "on" })],
  ["thinking.type", hello({ thinking: { type: true } })],
  ["thinking.budget_tokens", hello({ thinking: { type: "enabled", budget_tokens: "1024" } })],
  ["thinking.budget_tokens", hello({ thinking: { type: "enabled", budget_tokens: 1.5 } })],
  ["thinking.budget_tokens", hello({ thinking: { type: "enabled", budget_tokens: -1 } })],
  ["output_config", hello({ output_config: 5 })],
  ["output_config.effort", hello({ output_config: { effort: "huge" } })],
  ["output_config.format.type", hello({ output_config: { format: { type: "xml" } } })],
  [
    "output_config.format.schema",
    hello({ output_config: { format: { type: "json_schema", schema: 5 } } }),
  ],
  ["tools", hello({ tools: {} })],
  ["tools[0].name", hello({ tools: [{ input_schema: {} }] })],
  [
    "tools[1].input_schema",
    hello({
      tools: [
        { type: "bash_1", name: "b" },
        { name: "a", input_schema: [] },
      ],
    }),
  ],
  ["tool_choice.type", hello({ tool_choice: { type: "always" } })],
  ["tool_choice.type", hello({ tool_choice: "always" })],
  ["tool_choice.type", hello({ tools: [{ name: "a" }], tool_choice: { type: "required" } })],
  ["tool_choice.type", hello({ tool_choice: {} })],
  ["tool_choice", hello({ tool_choice: 5 })],
  [
    "tool_choice.disable_parallel_tool_use",
    hello({
      tools: [{ name: "a" }],
      tool_choice: { type: "any", disable_parallel_tool_use: "true" },
    }),
  ],
  ["tool_choice.name", hello({ tools: [{ name: "a" }], tool_choice: { type: "tool", name: "b" } })],
  ["tool_choice.name", hello({ tools: [{ name: "a" }], tool_choice: { type: "tool" } })],
  ["stream", hello({ stream: "yes" })],
])("422: %s", async (field, body) => {
  const server = await serve(scripted({ chat: says("Hi") }));
  const answer = await server.post(path, body);
  expect(answer.status).toBe(422);
  const { error, detail } = await json(answer);
  expect(error).toMatchObject({
    type: "invalid_request_error",
    code: "invalid_fields",
    param: field,
  });
  expect(error.message).toContain(`${field}: `);
  const loc = field.split(/[.[\]]+/).filter((it) => it !== "");
  expect(detail[0].loc.map(String)).toEqual(["body", ...loc]);
  // Of one that can't be read nothing else is said.
  const fields = detail.map((it: { loc: unknown[] }) => it.loc.join("."));
  expect(fields).toEqual([...new Set(fields)]);
});

test("which choices of tools there are is told as clients write them", async () => {
  const server = await serve(scripted({ chat: says("Hi") }));
  const { error } = await json(await server.post(path, hello({ tool_choice: "required" })));
  expect(error.message).toBe("tool_choice.type: must be one of auto, any, tool, none");
});

test.each(["king", "tool"])(
  "which roles there are is told as clients write them: not %s",
  async (role) => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const { error } = await json(await server.post(path, ask({ role, content: "a" })));
    expect(error.message).toBe("messages[0].role: must be one of user, assistant, system");
  },
);

test.each<[string, object]>([
  [
    "messages[0].content[2]",
    user({ type: "tool_result", tool_use_id: "a" }, text("b"), { type: "container_upload" }),
  ],
  ["messages[0].content[0]", user({ type: "image", source: { type: "file", file_id: "f" } })],
  [
    "messages[0].content[0]",
    assistant({ type: "server_tool_use", id: "a" }, { type: "web_search_tool_result" }),
  ],
  [
    "tool_choice",
    hello({
      tools: [{ type: "bash_1", name: "bash" }],
      tool_choice: { type: "tool", name: "bash" },
    }),
  ],
])("400: %s", async (param, body) => {
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend);
  const answer = await server.post(path, body);
  expect(answer.status).toBe(400);
  expect((await json(answer)).error).toMatchObject({ code: "unsupported_parameter", param });
  expect(backend.asked).toEqual([]);
});
