/** Calls to `ai-sdk` backends, and scripted servers that go when a test is over. */
import { afterEach, expect } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Backend } from "../../src/core/backend.js";
import type { Call } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { text } from "./contract-chat.js";
import { fixture } from "./fixture.js";
import { chatRequest } from "./openai-subject.js";
import { imageRequest } from "./picture.js";
import { callOf } from "./subject.js";
import { type Script, Upstream } from "./upstream.js";

/** A signal that does not abort. */
export const never = new AbortController().signal;
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A scripted server. */
export async function serve(script: Script): Promise<Upstream> {
  const upstream = await Upstream.start(script);
  cleanups.push(() => upstream.close());
  return upstream;
}

/** Closes a backend after the test. */
export function opened(backend: Backend): Backend {
  cleanups.push(() => backend.close());
  return backend;
}

/** What a streamed completion gave. */
export async function chatted(backend: Backend, more = {}) {
  const call = callOf("chat", chatRequest(more));
  const messages: LLMResponse[] = [];
  for await (const step of backend.handlers.chat?.(call) ?? []) messages.push(...step);
  return { messages, last: messages.at(-1), text: text(messages), warnings: call.warnings };
}

/** Images of one request. */
export async function drawn(backend: Backend, more = {}, settings: Partial<Call> = {}) {
  const request = imageRequest({ width: 64, height: 48, seed: 7n, ...more });
  const call = { ...callOf("textToImage", request), ...settings };
  for await (const [message] of backend.handlers.textToImage?.(call as never) ?? []) {
    return { images: message?.images ?? [], warnings: call.warnings };
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
