/** Servers of OpenAI's form that refuse tools, or the answer's form. */
import { describe, expect, it } from "vitest";
import { imagePart, say } from "../support/messages.js";
import { against, chat } from "./openai-calls.js";
import { echo } from "./openai-subject.js";
import { choice, conversation, format, weather } from "./openai-tools-asked.js";
import type { Script } from "./upstream.js";

describe("refusals", () => {
  const refusing =
    (
      status: number,
      error: unknown,
      isRefused = (body: Record<string, unknown>) => "tools" in body,
    ): Script =>
    (exchange) =>
      isRefused(exchange.json()) ? exchange.sendJson(status, { error }) : echo(exchange);

  it.each<[string, number, unknown]>([
    ["Ollama", 400, { message: "registry.ollama.ai/library/gemma:latest does not support tools" }],
    ["Ollama's own API", 400, "registry.ollama.ai/library/gemma:latest does not support tools"],
    [
      "vLLM",
      400,
      {
        message:
          '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        type: "BadRequestError",
      },
    ],
    ["llama.cpp", 500, { message: "tools param requires --jinja flag", type: "server_error" }],
    ["Groq", 400, { message: "`tool calling` is not supported with this model" }],
    ["OpenRouter", 404, { message: "No endpoints found that support tool use.", code: 404 }],
  ])("of tools, in the words of %s, are told once and remembered", async (_, status, error) => {
    const server = await against(refusing(status, error));
    const offered = { tools: [weather()], messages: conversation };
    const call = await chat(server, offered);
    expect([...call.warnings]).toEqual(["tools: not supported by this model, ignored"]);
    const [first, second] = server.bodies();
    expect(first).toHaveProperty("tools");
    expect(second).not.toHaveProperty("tools");
    expect(second.messages).toEqual([
      { role: "user", content: "Rome?" },
      { role: "assistant", content: "" },
      { role: "user", content: "sunny" },
    ]);
    expect(server.backend.models()[0]?.supports).not.toContain("tools");
    await chat(server, offered);
    expect(server.bodies()).toHaveLength(3);
  });

  it("of tools, and then of messages that say nothing without their calls, are both heeded", async () => {
    const blank = ({ content, tool_calls }: { content: string | null; tool_calls?: object }) =>
      !content && !tool_calls;
    const server = await against((exchange) => {
      const { tools, messages } = exchange.json();
      const error = tools
        ? { message: "gemma does not support tools" }
        : messages.some(blank) && { message: "messages: text content blocks must be non-empty" };
      return error ? exchange.sendJson(400, { error }) : echo(exchange);
    });
    await chat(server, { tools: [weather()], messages: conversation });
    expect(server.bodies().map(({ messages }) => messages.length)).toEqual([3, 3, 2]);
  });

  it.each([
    ["required", choice("required")],
    ["function", choice("function", "weather")],
  ])(
    "of tools that must be called are the caller's to hear, and another target may take them: %s",
    async (_, toolChoice) => {
      const said = "gemma does not support tools";
      const server = await against(refusing(400, { message: said }));
      const forced = { tools: [weather()], toolChoice };
      await expect(chat(server, forced)).rejects.toMatchObject({
        code: "unsupported_parameter",
        param: "tools",
        retry: "elsewhere",
      });
      expect(server.backend.models()[0]?.supports).toContain("tools");
    },
  );

  it.each([
    "Invalid schema for function 'weather': unsupported keyword 'foo' in tools[0].function.parameters",
    "tools[0].function.name: string does not match pattern",
    "Unknown parameter: 'tools[0].strict'.",
  ])("of one tool say nothing of others: %s", async (message) => {
    const server = await against(refusing(400, { message, param: "tools" }));
    await expect(chat(server, { tools: [weather()] })).rejects.toMatchObject({
      code: "invalid_value",
    });
    expect(server.bodies()).toHaveLength(1);
    expect(server.backend.models()[0]?.supports).toContain("tools");
  });

  it("of parallel_tool_calls are told: it tunes", async () => {
    const message =
      "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.";
    const server = await against(
      refusing(400, { message }, (body) => "parallel_tool_calls" in body),
    );
    const call = await chat(server, { tools: [weather()], parallelToolCalls: false });
    expect([...call.warnings]).toEqual([
      "parallel_tool_calls: not supported by this model, ignored",
    ]);
    expect(server.bodies()[1]).toHaveProperty("tools");
    expect(server.backend.models()[0]?.supports).not.toContain("parallel_tool_calls");
  });

  it("of the answer's form name it, and another target may take it", async () => {
    const message = "This response_format type is unavailable now";
    const server = await against(refusing(400, { message }, (body) => "response_format" in body));
    await expect(chat(server, { responseFormat: format("json_object") })).rejects.toMatchObject({
      code: "unsupported_parameter",
      param: "response_format",
      retry: "elsewhere",
    });
  });

  it.each<[string, number, unknown]>([
    [
      "OpenAI",
      400,
      { message: "Invalid content type. image_url is only supported by certain models." },
    ],
    [
      "DeepSeek",
      400,
      {
        message:
          "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text`",
      },
    ],
    ["vLLM", 400, { message: "At most 0 image(s) may be provided in one prompt." }],
    [
      "llama.cpp",
      500,
      {
        message:
          "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
      },
    ],
    ["OpenRouter", 404, { message: "No endpoints found that support image input", code: 404 }],
  ])(
    "of images, in the words of %s, name them, and another target may take them",
    async (_, status, error) => {
      const server = await against((exchange) => exchange.sendJson(status, { error }));
      const messages = [say("user", "", { parts: [imagePart("https://example.com/a.png")] })];
      await expect(chat(server, { messages })).rejects.toMatchObject({
        code: "unsupported_parameter",
        param: "image_url",
        retry: "elsewhere",
      });
      await expect(chat(server)).rejects.not.toMatchObject({ code: "unsupported_parameter" });
    },
  );
});
