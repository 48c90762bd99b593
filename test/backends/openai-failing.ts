/** Completions of the kind `openai` that fail, and what they fail with. */
import { onTestFinished } from "vitest";
import type { LintelError } from "../../src/core/errors.js";
import { type Logger, silent } from "../../src/core/log.js";
import { backendFor, chatRequest } from "./openai-subject.js";
import { callOf } from "./subject.js";
import { type Script, Upstream } from "./upstream.js";

/** What a completion fails with. */
export async function failure(
  script: Script,
  method: "chat" | "complete" = "chat",
  log: Logger = silent,
): Promise<LintelError> {
  const upstream = await Upstream.start(script);
  const backend = backendFor(upstream.url);
  onTestFinished(() => upstream.close());
  onTestFinished(() => backend.close());
  try {
    const call = { ...callOf(method, chatRequest()), log };
    for await (const _ of backend.handlers[method]?.(call as never) ?? []);
  } catch (thrown) {
    return thrown as LintelError;
  }
  throw new Error("it did not fail");
}

/** A server that answers all with one status and body. */
export const answering =
  (status: number, body: unknown, headers: Record<string, string> = {}): Script =>
  (exchange) =>
    exchange.sendJson(status, body, headers);

/** OpenRouter's form around what a provider said. */
export const routed = (code: number, raw: unknown) => ({
  error: { message: "Provider returned error", code, metadata: { raw, provider_name: "X" } },
});

/** What is behind an error, for the log. */
export const causeOf = ({ cause }: LintelError) => (cause as Error | undefined)?.message;
