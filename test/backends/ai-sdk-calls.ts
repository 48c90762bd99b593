/** Calls to `ai-sdk` backends. */
import { expect } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Backend } from "../../src/core/backend.js";
import type { Call, Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { joinCalls } from "../../src/core/tool-calls.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { text } from "./contract-chat.js";
import { fixture } from "./fixture.js";
import { chatRequest } from "./openai-subject.js";
import { imageRequest } from "./picture.js";
import { callOf } from "./subject.js";
import type { Script, Upstream } from "./upstream.js";

/** What a streamed completion gave. */
export async function chatted(backend: Backend, more = {}) {
  const call = callOf("chat", chatRequest(more));
  const messages: LLMResponse[] = [];
  for await (const step of backend.handlers.chat?.(call) ?? []) messages.push(...step);
  return { messages, last: messages.at(-1), text: text(messages), warnings: [...call.warnings] };
}

/** Images of one request. */
export async function drawn(backend: Backend, more = {}, settings: Partial<Call> = {}) {
  const request = imageRequest({ width: 64, height: 48, seed: 7n, ...more });
  const call = { ...callOf("textToImage", request), ...settings };
  for await (const [message] of backend.handlers.textToImage?.(call as never) ?? []) {
    return { images: message?.images ?? [], warnings: [...call.warnings] };
  }
  throw new Error("nothing came");
}

/** What a promise failed with; its words give no address and no key away. */
export async function thrownBy(promise: Promise<unknown>): Promise<LintelError> {
  const error = await promise.then(
    () => "nothing was thrown",
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(LintelError);
  expect((error as LintelError).message).not.toMatch(/127\.0\.0\.1|localhost|secret|:\d{4,5}/);
  return error as LintelError;
}

/** Plays a fixture in small pieces. */
export const played =
  (name: string): Script =>
  (exchange) =>
    exchange.play(fixture(name), 7);

/** Plays a fixture up to a text in it, and ends there. */
export const playedUpTo =
  (name: string, end: string): Script =>
  async (exchange) => {
    const { status, headers, body } = fixture(name);
    const at = body.indexOf(end);
    if (at < 0) throw new Error(`${name} has no ${end}`);
    await exchange.head(status, headers);
    await exchange.chunk(body.subarray(0, at));
    await exchange.end();
  };

/** What a call by the core came to, with all calls of tools that came with it. */
export async function asked(
  backend: Backend,
  method: "chat" | "complete",
  request: object,
  models: readonly ModelSettings[] = [],
) {
  const messages = [{ role: "user", content: "How is the weather?" }];
  const asked = { model: "m", messages, ...request };
  const result = await outcome(coreOf([backend], { models }), method, asked);
  const choices = result.messages.flatMap((message) => message.choices);
  const said = choices.map(({ delta, message }) => delta ?? message);
  const calls = joinCalls(said.flatMap((it) => it?.toolCalls ?? []));
  return {
    ...result,
    text: said.map((it) => it?.content ?? "").join(""),
    calls: calls.map(({ id, function: it }) => [id, it?.name, it?.arguments]),
    signatures: calls.map(({ extraContent }) => extraContent),
    finishReason: choices.at(-1)?.finishReason,
  };
}

/** Two tools, one of which has no arguments. */
export const weatherTools = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "The weather in a city",
      parameters: '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}',
      strict: true,
    },
  },
  { function: { name: "get_time" } },
];

/** Bodies of the requests that a server got. */
export const bodies = ({ requests }: Upstream) =>
  requests.map(({ body }) => JSON.parse(String(body)));

/** Says how a backend stamped its last answer, of which callers of a core see nothing. */
export function stampsOf({ handlers }: Backend, method: "chat" | "complete") {
  const handle = handlers[method] as unknown as Handle<"chat">;
  let last: { id: string; model: string } | undefined;
  Object.assign(handlers, {
    async *[method](call: Call<"chat">) {
      for await (const step of handle(call)) {
        const { id, model } = step.at(-1) ?? {};
        if (id !== undefined && model !== undefined) last = { id, model };
        yield step;
      }
    },
  });
  return () => last;
}
