/** Messages without words, which vendors refuse and local chat templates may need. */
import { describe, expect, it } from "vitest";
import type { LLMMessage } from "../../gen/lintel/v1/chat_pb.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { imagePart, say } from "../support/messages.js";
import { chatted, thrownBy } from "./ai-sdk-calls.js";
import { echo as anthropic, anthropicAt } from "./ai-sdk-subject.js";
import { backendFor, echo } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import type { Exchange, Script, Upstream } from "./upstream.js";

const messagesOf = (...said: readonly (readonly [string, string])[]): LLMMessage[] =>
  said.map(([role, content]) => say(role, content));

/** What OpenAI's clients send once a tool was called. */
const called = messagesOf(["user", "a"], ["assistant", ""], ["tool", "b"], ["user", " \n"]);

const sent = ({ requests }: Upstream) =>
  requests.map(({ body }) =>
    (JSON.parse(String(body)).messages as { content: unknown }[]).map(({ content }) => content),
  );

describe("OpenAI-compatible servers", () => {
  const blank = ({ content }: { content: string }) => content.trim() === "";

  const refusing =
    (message: string, status = 400): Script =>
    (exchange: Exchange) =>
      exchange.json().messages.some(blank)
        ? exchange.sendJson(status, { error: { message, type: "invalid_request_error" } })
        : echo(exchange);

  it("are sent them: their turns alternate", async () => {
    const server = await serve(echo);
    await chatted(opened(backendFor(server.url)), { messages: called });
    expect(sent(server)).toEqual([["a", "", "b", " \n"]]);
  });

  it.each([
    ["Assistant message must have either content or tool_calls, but not none.", 400],
    ["Assistant message must have either content or tool_calls, but not none.", 422],
    ["Invalid request: message at position 1 with role 'assistant' must not be empty", 400],
    ["messages: text content blocks must be non-empty", 400],
    ["Invalid assistant message: role='assistant' content=None tool_calls=None prefix=False", 400],
    ["Assistant response prefill is incompatible with enable_thinking.", 400],
    ["Assistant response prefill is incompatible with enable_thinking.", 500],
    [
      "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
      400,
    ],
    ["messages.1: all messages must have non-empty content except for the optional final one", 400],
  ])("that refuse them are asked once again without: %s (%i)", async (message, status) => {
    const server = await serve(refusing(message, status));
    const backend = opened(backendFor(server.url));
    const { text, warnings } = await chatted(backend, { messages: called });
    expect(text).toBe("you said b ");
    expect(warnings).toEqual([]);
    await chatted(backend, { messages: called });
    expect(sent(server)).toEqual([
      ["a", "", "b", " \n"],
      ["a", "b"],
      ["a", "b"],
    ]);
  });

  it("that refuse them are sent calls of tools, and what came of them, also where no word was said", async () => {
    const messages = [
      say("user", "a"),
      say("assistant", "", { toolCalls: [toolCall(0, "1", "f", "{}")] }),
      say("tool", "", { toolCallId: "1" }),
      say("user", "", { parts: [imagePart("https://example.com/a.png")] }),
      say("assistant", " "),
      say("user", "b"),
    ];
    const refused = "Assistant message must have either content or tool_calls, but not none.";
    const server = await serve((exchange) =>
      exchange.json().messages.length > 5
        ? exchange.sendJson(400, { error: { message: refused } })
        : echo(exchange),
    );
    await chatted(opened(backendFor(server.url)), { messages });
    const [, second] = server.requests;
    const roles = JSON.parse(String(second?.body)).messages.map(({ role }: LLMMessage) => role);
    expect(roles).toEqual(["user", "assistant", "tool", "user", "user"]);
  });

  it("that refuse something else, or still refuse, are not asked on", async () => {
    const message = "content must not be empty";
    const server = await serve((exchange) => exchange.sendJson(400, { error: { message } }));
    const backend = opened(backendFor(server.url));
    const invalid = { code: "invalid_value" };
    expect(await thrownBy(chatted(backend, { messages: called }))).toMatchObject(invalid);
    expect(server.requests).toHaveLength(2);
    expect(await thrownBy(chatted(backend))).toMatchObject(invalid);
    const empty = { messages: messagesOf(["user", ""]) };
    expect(await thrownBy(chatted(backend, empty))).toMatchObject(invalid);
    expect(server.requests).toHaveLength(4);
    server.script((exchange) => exchange.sendJson(400, { error: { message: "too long" } }));
    expect(await thrownBy(chatted(backend, { messages: called }))).toMatchObject(invalid);
    expect(server.requests).toHaveLength(5);
  });
});

describe("providers of the AI SDK", () => {
  const blocks = (...texts: string[]) => [texts.map((text) => ({ type: "text", text }))];

  it("are not given them", async () => {
    const server = await serve(anthropic);
    const { text } = await chatted(opened(anthropicAt(server.url)), { messages: called });
    expect(text).toBe("you said a ");
    expect(sent(server)).toEqual([blocks("a", "b")]);
  });

  it("are given them where there is nothing else", async () => {
    const server = await serve(anthropic);
    await chatted(opened(anthropicAt(server.url)), { messages: messagesOf(["user", ""]) });
    expect(sent(server)).toEqual([blocks("")]);
  });
});
