/** Searches for tools that the client runs: `tool_search` of the Responses API. */
import { describe, expect, test } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { toolCall } from "../../src/core/tool-calls.js";
import type { Json } from "../contract/wire.js";
import { say } from "../support/messages.js";
import { callsTools, says, scripted } from "../support/scripted.js";
import { responseEvents } from "./response-events.js";
import { json, serve } from "./serve.js";

const path = "/v1/responses";
const parameters = { type: "object", properties: { query: { type: "string" } } };
const search = {
  type: "tool_search",
  execution: "client",
  description: "Finds tools.",
  parameters,
};
const plain = (name: string) => ({ type: "function", name, parameters: { type: "object" } });
const found = { type: "namespace", name: "mcp__mail", description: "", tools: [plain("send")] };
const user = { role: "user", content: "Write a mail." };
const call = {
  ...{ type: "tool_search_call", execution: "client", call_id: "1", status: "completed" },
  arguments: { query: "mail" },
};
const output = {
  ...{ type: "tool_search_output", execution: "client", call_id: "1", status: "completed" },
  tools: [found],
};

async function serving(chat: Handle<"chat"> = says("Hi")) {
  const backend = scripted({ chat });
  const { post } = await serve(backend);
  return {
    post: (body: object) => post(path, { model: "chat-1", ...body }),
    asked: () => backend.asked.at(-1) as LLMRequest,
  };
}

const namesOf = ({ tools }: LLMRequest) => tools.map(({ function: tool }) => tool?.name);

describe("what the model is told", () => {
  test("the search is a function like others", async () => {
    const { post, asked } = await serving();
    const answer = await json(await post({ input: "a", tools: [plain("f"), search] }));
    expect(answer).not.toHaveProperty("warnings");
    expect(answer.tools).toEqual([plain("f"), search]);
    expect(namesOf(asked())).toEqual(["f", "tool_search"]);
    const { description, parameters: told } = asked().tools[1]?.function ?? {};
    expect([description, JSON.parse(told ?? "")]).toEqual(["Finds tools.", parameters]);
  });

  test("its call and what that found are a call and what came of it; what was found is offered, once", async () => {
    const { post, asked } = await serving();
    const again = { ...output, call_id: "2", tools: [found, plain("f")] };
    const input = [user, call, output, { ...call, call_id: "2" }, again];
    const answer = await json(await post({ input, tools: [search] }));
    expect(answer).not.toHaveProperty("warnings");
    expect(answer.tools).toEqual([search]);
    expect(namesOf(asked())).toEqual(["tool_search", "mcp__mail__send", "f"]);
    const called = (id: string) => [toolCall(0, id, "tool_search", '{"query":"mail"}')];
    expect(asked().messages).toEqual([
      say("user", "Write a mail."),
      say("assistant", "", { toolCalls: called("1") }),
      say("tool", "Tools that are there now: mcp__mail__send", { toolCallId: "1" }),
      say("assistant", "", { toolCalls: called("2") }),
      say("tool", "Tools that are there now: mcp__mail__send, f", { toolCallId: "2" }),
    ]);
  });

  test("that nothing was found", async () => {
    const { post, asked } = await serving();
    await (await post({ input: [user, call, { ...output, tools: [] }], tools: [search] })).text();
    expect(asked().messages.at(-1)?.content).toBe("No tools were found.");
  });

  test("tools that are to be found first are offered once they were", async () => {
    const { post, asked } = await serving();
    const deferred = { ...plain("f"), defer_loading: true };
    const mail = { ...found, tools: [{ ...plain("send"), defer_loading: true }] };
    const tools = [deferred, mail, plain("g"), search];
    await (await post({ input: "a", tools })).text();
    expect(namesOf(asked())).toEqual(["g", "tool_search"]);
    await (await post({ input: [user, call, output], tools })).text();
    expect(namesOf(asked())).toEqual(["mcp__mail__send", "g", "tool_search"]);
    const choice = { type: "function", name: "f" };
    await (await post({ input: "a", tools, tool_choice: choice })).text();
    expect(namesOf(asked())).toEqual(["f", "g", "tool_search"]);
  });

  test("a choice among it and others", async () => {
    const { post, asked } = await serving();
    const tools = [plain("f"), plain("g"), search];
    const allowed = [{ type: "tool_search" }, { type: "function", name: "g" }];
    const tool_choice = { type: "allowed_tools", mode: "required", tools: allowed };
    await (await post({ input: "a", tools, tool_choice })).text();
    expect(namesOf(asked())).toEqual(["g", "tool_search"]);
    expect(asked().toolChoice?.type).toBe("required");
  });
});

describe("a call of it", () => {
  const pieces = [
    [toolCall(0, "1", "tool_search", "")],
    [toolCall(0, "", "", '{"query":')],
    [toolCall(0, "", "", '"mail"}')],
    [toolCall(1, "2", "f", "{}")],
  ];
  const asking = { input: "a", tools: [search, plain("f")] };
  const items = [
    { ...call, id: expect.stringMatching(/^tsc_/) },
    { type: "function_call", call_id: "2", name: "f", arguments: "{}", status: "completed" },
  ];

  test("is an item of its own in a whole answer", async () => {
    const { post } = await serving(callsTools(...pieces));
    const { output: said } = await json(await post(asking));
    expect(said).toMatchObject(items);
    expect(said[0]).not.toHaveProperty("name");
  });

  test("and in a stream, which tells nothing of it between its begin and its end", async () => {
    const { post } = await serving(callsTools(...pieces));
    const events: Json[] = await responseEvents(await post({ ...asking, stream: true }));
    const about = events.filter(({ output_index }) => output_index === 0);
    expect(about.map(({ type }) => type)).toEqual([
      "response.output_item.added",
      "response.output_item.done",
    ]);
    expect(about[0]?.item).toMatchObject({ ...call, status: "in_progress", arguments: {} });
    expect(about[1]?.item).toMatchObject(items[0] ?? {});
    expect(events.at(-1)?.response.output).toMatchObject(items);
  });

  test("that is no object is told as such", async () => {
    const { post } = await serving(callsTools([toolCall(0, "1", "tool_search", "mail?")]));
    const { output: said } = await json(await post(asking));
    expect(said[0].arguments).toEqual({ rawInvalidInput: "mail?" });
  });
});

describe("where OpenAI would search", () => {
  const server = { execution: "server", call_id: null };
  const deferred = { ...plain("f"), defer_loading: true };
  const mail = { ...found, tools: [{ ...plain("send"), defer_loading: true }] };
  const tools = [{ type: "tool_search" }, deferred, mail, plain("g")];
  const calls = callsTools(
    [toolCall(0, "1", "f", "{}"), toolCall(1, "2", "g", "{}")],
    [toolCall(2, "3", "mcp__mail__send", "{}"), toolCall(3, "4", "f", "{}")],
  );
  const searched = (name: string, tool: object) => [
    { ...call, ...server, arguments: { paths: [name] } },
    { ...output, ...server, tools: [tool] },
  ];
  const said = [
    ...searched("f", deferred),
    { type: "function_call", call_id: "1", name: "f" },
    { type: "function_call", call_id: "2", name: "g" },
    ...searched("mcp__mail__send", mail),
    { type: "function_call", call_id: "3", name: "send", namespace: "mcp__mail" },
    { type: "function_call", call_id: "4", name: "f" },
  ];

  test("all are offered from the begin, and found once they are called", async () => {
    const { post, asked } = await serving(calls);
    const whole = await json(await post({ input: "a", tools }));
    expect(namesOf(asked())).toEqual(["f", "mcp__mail__send", "g"]);
    expect(whole).not.toHaveProperty("warnings");
    expect(whole.output).toMatchObject(said);
    const ids = new Set(whole.output.map(({ id }: Json) => id));
    expect(ids.size).toBe(said.length);
  });

  test("and so in a stream", async () => {
    const { post } = await serving(calls);
    const events: Json[] = await responseEvents(await post({ input: "a", tools, stream: true }));
    expect(events.at(-1)?.response.output).toMatchObject(said);
    const items = (type: string) => {
      const those = events.filter((event) => event.type === `response.output_item.${type}`);
      return those.sort((a, b) => a.output_index - b.output_index).map(({ item }) => item);
    };
    expect(items("added").map(({ type }) => type)).toEqual(said.map(({ type }) => type));
    expect(items("done")).toMatchObject(said);
  });

  test("what was found before is not found again, nor is what the client can't run", async () => {
    const { post, asked } = await serving(calls);
    const [search, outcome] = searched("f", deferred);
    const more = { ...outcome, tools: [deferred, plain("theirs")] };
    const whole = await json(await post({ input: [user, search, more], tools }));
    expect(asked().messages).toEqual([say("user", "Write a mail.")]);
    expect(namesOf(asked())).toEqual(["f", "mcp__mail__send", "g"]);
    expect(whole.output).toMatchObject(said.slice(2));
  });

  test("without any tool to be found it is dropped, and that is said", async () => {
    const { post } = await serving();
    const { warnings } = await json(await post({ input: "a", tools: [{ type: "tool_search" }] }));
    expect(warnings).toEqual(["tools: tool_search is not supported, ignored"]);
  });
});

test.each([
  [{ tools: [search, plain("tool_search")] }, "tools[1].name", "must be the name of no other tool"],
  [
    { input: [user, { ...call, arguments: "mail" }, output], tools: [search] },
    "input[1].arguments",
    "must be an object",
  ],
  [
    { input: [user, call, { ...output, tools: "mail" }], tools: [search] },
    "input[2].tools",
    "must be an array",
  ],
])("422 of %j", async (body, param, message) => {
  const { post } = await serving();
  const answer = await post({ input: "a", ...body });
  expect(answer.status).toBe(422);
  const { error } = await json(answer);
  expect(error.param).toBe(param);
  expect(error.message).toContain(message);
});
