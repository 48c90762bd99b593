/** Streams of an OpenAI-compatible server that is scripted to the byte. */
import { expect } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Backend } from "../../src/core/backend.js";
import type { Call } from "../../src/core/call.js";
import type { LintelError } from "../../src/core/errors.js";
import { text } from "./contract-chat.js";
import { backendFor, chatRequest } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

/** A backend that is closed when the test is over. */
export function backend(url: string, config: object = {}): Backend {
  return opened(backendFor(url, config));
}

/** A backend, and the scripted server that it asks. */
export async function against(script: Script, config: object = {}) {
  const upstream = await serve(script);
  return { upstream, backend: backend(upstream.url, config) };
}

/** What a stream brought, read by read. */
export interface Streamed {
  readonly steps: (readonly LLMResponse[])[];
  readonly text: string;
  readonly error: LintelError | undefined;
}

/** Reads a stream to its end, or until it fails. */
export async function stream(on: Backend, call: Call<"chat"> = callOf("chat", chatRequest())) {
  const steps: (readonly LLMResponse[])[] = [];
  let error: unknown;
  try {
    for await (const step of on.handlers.chat?.(call) ?? []) steps.push(step);
  } catch (thrown) {
    error = thrown;
  }
  return { steps, text: text(steps.flat()), error } as Streamed;
}

/** An error of that code. */
export const failed = (code: string) => expect.objectContaining({ name: "LintelError", code });
