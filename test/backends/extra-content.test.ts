/** What a server gave with a call, before OpenAI-compatible servers that know nothing of it: the conversation began elsewhere. */
import { describe, expect, it } from "vitest";
import { toolCall } from "../../src/core/tool-calls.js";
import { say } from "../support/messages.js";
import { against, chat, complete } from "./openai-calls.js";
import { echo } from "./openai-subject.js";
import type { Script } from "./upstream.js";

const google = (thought_signature: string) => ({ google: { thought_signature } });

/** A conversation with a call that has it. */
const conversation = (extra: object) => [
  say("user", "Rome?"),
  say("assistant", "", { toolCalls: [toolCall(0, "a", "weather", "{}", JSON.stringify(extra))] }),
  say("tool", "sunny", { toolCallId: "a" }),
];

const call = { id: "a", type: "function", function: { name: "weather", arguments: "{}" } };

/** Refuses it, in the server's words. */
const refusing =
  (status: number, words: object): Script =>
  (exchange) =>
    exchange.json().messages[1].tool_calls[0].extra_content
      ? exchange.sendJson(status, words)
      : echo(exchange);

const member = "messages.1.assistant.tool_calls.0.extra_content";

describe("what a server gave with a call", () => {
  it.each<[string, number, object]>([
    [
      "Groq",
      400,
      {
        error: {
          message:
            "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1.tool_calls.0' : property 'extra_content' is unsupported)]",
          type: "invalid_request_error",
        },
      },
    ],
    [
      "Cerebras",
      400,
      {
        message: `${member}: property '${member}' is unsupported`,
        ...{ type: "invalid_request_error", param: "validation_error", code: "wrong_api_format" },
      },
    ],
    [
      "Mistral",
      422,
      {
        detail: [
          {
            ...{ type: "extra_forbidden", msg: "Extra inputs are not permitted", input: {} },
            loc: ["body", "messages", 1, "assistant", "tool_calls", 0, "extra_content"],
          },
        ],
      },
    ],
    [
      "OpenAI",
      400,
      {
        error: {
          message: "Unknown parameter: 'messages[1].tool_calls[0].extra_content'.",
          type: "invalid_request_error",
          ...{ param: "messages[1].tool_calls[0].extra_content", code: "unknown_parameter" },
        },
      },
    ],
  ])("is left out where %s refuses it, from then on at once", async (_, status, words) => {
    const server = await against(refusing(status, words));
    const messages = conversation(google("abc"));
    const { warnings } = await chat(server, { messages });
    expect(server.bodies().at(-1).messages[1].tool_calls).toEqual([call]);
    expect(server.bodies()).toHaveLength(2);
    await complete(server, { messages });
    expect(server.bodies()).toHaveLength(3);
    expect([...warnings]).toEqual([]);
  });

  it.each(["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"])(
    "is not said where it says that there was nothing, as Google's clients do: %s",
    async (stand) => {
      const sent = async (dialect: string, model: string) => {
        const server = await against(echo, { dialect, models: [model] });
        await complete(server, { messages: conversation(google(stand)), model });
        return server.bodies()[0].messages[1].tool_calls;
      };
      expect(await sent("vllm", "m")).toEqual([call]);
      const skip = google("skip_thought_signature_validator");
      expect(await sent("google", "gemini-3-pro")).toEqual([{ ...call, extra_content: skip }]);
    },
  );
});
