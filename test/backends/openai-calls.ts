/** Calls to `openai` backends before scripted servers that go when a test is over. */
import { onTestFinished } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../src/core/call.js";
import { backendFor, chatRequest } from "./openai-subject.js";
import { callOf } from "./subject.js";
import { type Script, Upstream } from "./upstream.js";

/** A backend before a scripted server, and the bodies that came. */
export async function against(script: Script, config: object = {}) {
  const upstream = await Upstream.start(script);
  const backend = backendFor(upstream.url, config);
  onTestFinished(() => upstream.close());
  onTestFinished(() => backend.close());
  const bodies = () =>
    upstream.requests
      .filter(({ method }) => method === "POST")
      .map(({ body }) => JSON.parse(String(body)));
  return { upstream, backend, bodies };
}

/** What `against` makes. */
type Against = Awaited<ReturnType<typeof against>>;

/** Has a completion streamed to its end. */
export async function chat(
  { backend }: Against,
  more: Partial<LLMRequest> = {},
): Promise<Call<"chat">> {
  const call = callOf("chat", chatRequest(more));
  for await (const _ of backend.handlers.chat?.(call) ?? []);
  return call;
}

/** Has a whole completion made. */
export async function complete(
  { backend }: Against,
  more: Partial<LLMRequest> = {},
): Promise<void> {
  const call = callOf("complete", chatRequest(more));
  for await (const _ of backend.handlers.complete?.(call) ?? []);
}
