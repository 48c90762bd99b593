/** Tools whose names only some servers take: others hear names that they take, and callers their own again. */
import { describe, expect, it } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Backend } from "../../src/core/backend.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { say } from "../support/messages.js";
import { functionTool } from "../support/tools.js";
import { asked, bodies } from "./ai-sdk-calls.js";
import { anthropicAt, compatibleAt } from "./ai-sdk-subject.js";
import { claude, gemini, googleAt } from "./ai-sdk-thoughts.js";
import { backendFor, chunk } from "./openai-subject.js";
import { choice } from "./openai-tools-asked.js";
import { opened, serve } from "./serve.js";
import type { Exchange, Script, Upstream } from "./upstream.js";

const long = `files/${"read_".repeat(14)}all`;
const names = ["shop.search", "shop/search", "shop_search", "9lives", "wetter:heute", long];
const tool = (name: string) => functionTool(name, { type: "object", properties: {} });
const tools = names.map(tool);

const request: Partial<LLMRequest> = {
  tools,
  toolChoice: choice("function", "wetter:heute"),
  messages: [
    say("user", "Find it"),
    say("assistant", "", {
      toolCalls: [toolCall(0, "a", "shop/search", "{}"), toolCall(1, "b", "gone.tool", "{}")],
    }),
    say("tool", "found", { toolCallId: "a" }),
    say("tool", "gone", { toolCallId: "b" }),
  ],
};

interface Told {
  readonly tools: readonly { readonly function: { readonly name: string } }[];
  readonly tool_choice?: { readonly function: { readonly name: string } };
  readonly messages: readonly { tool_calls?: readonly { function: { name: string } }[] }[];
}

/** Every name that a server is told, in the order of its body. */
const namesOf = ({ tools, tool_choice, messages }: Told): string[] => [
  ...tools.map(({ function: { name } }) => name),
  ...(tool_choice ? [tool_choice.function.name] : []),
  ...messages.flatMap(({ tool_calls = [] }) => tool_calls.map((call) => call.function.name)),
];

/** Calls all tools that are offered, by their names as it knows them. */
async function callsAll(exchange: Exchange): Promise<void> {
  const { stream, tools } = exchange.json() as Told & { stream: boolean };
  const calls = tools.map((tool, index) => ({
    ...{ index, id: `c${index}`, type: "function" },
    function: { name: tool.function.name, arguments: "{}" },
  }));
  if (!stream) {
    const message = { role: "assistant", content: null, tool_calls: calls };
    const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
    return exchange.sendJson(200, { id: "c", model: "m", created: 1, choices });
  }
  const pieces = calls.map((call) => chunk({ tool_calls: [call] }));
  await exchange.stream(...pieces, chunk({}, "tool_calls"), "data: [DONE]\n\n");
}

/** A server that takes names of a form alone, and says so in its words. */
const taking =
  (form: RegExp, status: number, error: object): Script =>
  (exchange) =>
    namesOf(exchange.json() as Told).every((name) => form.test(name))
      ? callsAll(exchange)
      : exchange.sendJson(status, error);

/** Asks for a stream, and whole: the second time nothing has to be refused any more. */
async function both(backend: Backend, server: Upstream, more: object = request) {
  const called: string[][] = [];
  for (const method of ["chat", "complete"] as const) {
    const { code, warnings, calls } = await asked(backend, method, more);
    expect([code, warnings]).toEqual(["ok", []]);
    called.push(calls.map(([, name]) => name ?? ""));
  }
  return { called, all: bodies(server) };
}

const openai = /^[a-zA-Z0-9_-]{1,64}$/;
const error = (message: string) => ({ error: { message, type: "invalid_request_error" } });

const servers: readonly (readonly [string, RegExp, number, object])[] = [
  [
    "OpenAI",
    openai,
    400,
    error(
      "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    ),
  ],
  [
    "OpenAI, by length",
    openai,
    400,
    error(
      "Invalid 'tools[5].function.name': string too long. Expected a string with maximum length 64, but got a string with length 79 instead.",
    ),
  ],
  [
    "OpenAI, of a history",
    openai,
    400,
    error("Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern."),
  ],
  [
    "Azure, older",
    openai,
    400,
    error("'shop.search' does not match '^[a-zA-Z0-9_-]{1,64}$' - 'tools.0.function.name'"),
  ],
  [
    "Gemini",
    /^[a-zA-Z_][\w.:-]{0,63}$/,
    400,
    [
      {
        error: {
          code: 400,
          message:
            "* GenerateContentRequest.tools[0].function_declarations[3].name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.\n",
          status: "INVALID_ARGUMENT",
        },
      },
    ],
  ],
  [
    "Mistral",
    openai,
    422,
    error(
      "Function name was shop.search but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64.",
    ),
  ],
  [
    "Claude's form",
    openai,
    400,
    error("tools.5.custom.name: String should have at most 64 characters"),
  ],
  [
    "Bedrock",
    openai,
    400,
    {
      message:
        "1 validation error detected: Value 'shop.search' at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
    },
  ],
  [
    "Kimi",
    /^[a-zA-Z][\w-]{0,63}$/,
    400,
    error(
      "Invalid request: function name is invalid, must start with a letter and can contain letters, numbers, underscores, and dashes",
    ),
  ],
  [
    "a check in Python",
    openai,
    422,
    {
      detail: [
        {
          ...{ type: "string_pattern_mismatch", msg: "String should match pattern '^[\\w-]+$'" },
          loc: ["body", "tools", 0, "function", "name"],
        },
      ],
    },
  ],
];

describe("names of tools", () => {
  it.each(servers)("that %s refuses are others to it", async (_, form, status, words) => {
    const server = await serve(taking(form, status, words));
    const { called, all } = await both(opened(backendFor(server.url)), server);
    expect(called).toEqual([names, names]);
    expect(all.map(namesOf)).toHaveLength(3);
    // To who refuses none the first request is as it was.
    expect(namesOf(all[0])).toEqual([...names, "wetter:heute", "shop/search", "gone.tool"]);
    const told = namesOf(all[1]);
    const mark = expect.stringMatching(/^shop_search_[0-9a-f]{8}$/);
    expect(told).toEqual([
      ...[mark, mark, "shop_search", "tool_9lives", "wetter_heute"],
      expect.stringMatching(/^files_read_.{44}_[0-9a-f]{8}$/),
      ...["wetter_heute", told[1], "gone_tool"],
    ]);
    expect(new Set(told.slice(0, 6)).size).toBe(6);
    expect(namesOf(all[2])).toEqual(told);
  });

  it("are the same in whatever order, so that what is kept of a prompt is found", async () => {
    const server = await serve(taking(openai, 400, servers[0]?.[3] ?? {}));
    const backend = opened(backendFor(server.url));
    const { all } = await both(backend, server);
    const turned = { ...request, tools: tools.toReversed() };
    await both(backend, server, turned);
    const told = namesOf(all[1]).slice(0, 6);
    expect(namesOf(bodies(server).at(-1)).slice(0, 6)).toEqual(told.toReversed());
  });

  it("have no dashes before a server that takes none of these either", async () => {
    const words = error("tool name 'a-b' must match [a-zA-Z][a-zA-Z0-9_]*");
    const server = await serve(taking(/^[a-zA-Z]\w*$/, 400, words));
    const dashed = {
      tools: [tool("shop-a.search"), tool("shop-b")],
      toolChoice: choice("function", "shop-b"),
    };
    const { called, all } = await both(opened(backendFor(server.url)), server, dashed);
    expect(called).toEqual(Array(2).fill(["shop-a.search", "shop-b"]));
    expect(all.map(namesOf)).toEqual([
      ["shop-a.search", "shop-b", "shop-b"],
      ["shop-a_search", "shop-b", "shop-b"],
      ...Array(2).fill(["shop_a_search", "shop_b", "shop_b"]),
    ]);
  });

  it("that are in order are no reason to ask again", async () => {
    const server = await serve((exchange) =>
      exchange.sendJson(
        400,
        error("Invalid 'tools[0].function.name': string does not match pattern."),
      ),
    );
    const { code } = await asked(opened(backendFor(server.url)), "complete", {
      tools: [tool("shop_search")],
    });
    expect([code, server.requests.length]).toEqual(["invalid_value", 1]);
  });
});

describe("behind providers of the AI SDK names of tools", () => {
  it("are others to a server of OpenAI's form that refuses them", async () => {
    const server = await serve(taking(openai, 400, servers[0]?.[3] ?? {}));
    const { called, all } = await both(opened(compatibleAt(server.url)), server);
    expect(called).toEqual([names, names]);
    expect(all).toHaveLength(3);
    expect(namesOf(all[0])).toEqual([...names, "wetter:heute", "shop/search", "gone.tool"]);
    expect(namesOf(all[2])).toEqual(namesOf(all[1]));
    expect(namesOf(all[1]).every((name) => openai.test(name))).toBe(true);
  });

  const offered = {
    tools: [tool("shop.search")],
    messages: [
      say("user", "Find it"),
      say("assistant", "", { toolCalls: [toolCall(0, "a", "shop.search", "{}")] }),
      say("tool", "found", { toolCallId: "a" }),
    ],
  };

  it("are others to Claude", async () => {
    const words = {
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
      },
    };
    const calls = claude({ type: "tool_use", id: "t", name: "shop_search", input: {} });
    const server = await serve((exchange) =>
      exchange.json().tools[0].name === "shop_search"
        ? calls(exchange)
        : exchange.sendJson(400, words),
    );
    const { called, all } = await both(opened(anthropicAt(server.url)), server, offered);
    expect(called).toEqual([["shop.search"], ["shop.search"]]);
    expect(all).toHaveLength(3);
    expect(all[2].messages[1].content[0]).toMatchObject({ type: "tool_use", name: "shop_search" });
  });

  it("are others to Gemini, also with what came of calls", async () => {
    const odd = { ...offered, tools: [tool("shop/search")] };
    const words =
      "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name. Must start with a letter or an underscore.";
    const calls = gemini({ functionCall: { name: "shop_search", args: {} } });
    const server = await serve((exchange) =>
      exchange.request.body.includes("shop/search")
        ? exchange.sendJson(400, {
            error: { code: 400, message: words, status: "INVALID_ARGUMENT" },
          })
        : calls(exchange),
    );
    const history = [
      say("user", "Find it"),
      say("assistant", "", { toolCalls: [toolCall(0, "a", "shop/search", "{}")] }),
      say("tool", "found", { toolCallId: "a" }),
    ];
    const backend = opened(googleAt(server.url, { models: [{ id: "m" }] }));
    const { called, all } = await both(backend, server, { ...odd, messages: history });
    expect(called).toEqual([["shop/search"], ["shop/search"]]);
    expect(all[1].contents[2].parts[0].functionResponse.name).toBe("shop_search");
  });
});
