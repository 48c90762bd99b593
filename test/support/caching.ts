/** A core that keeps answers, for tests. */
import { expect } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import type { CoreParts } from "../../src/core/core.js";
import type { Origin } from "../../src/core/gateway.js";
import type { CoreSettings } from "../../src/core/settings.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import * as calls from "./calls.js";
import { coreOf } from "./core.js";
import { chatModel } from "./models.js";
import { hello } from "./routing.js";
import { says, scripted } from "./scripted.js";

/** Milliseconds. */
export const hour = 3_600_000;

/** A core that keeps answers, and what its model was asked. */
export function caching(
  chat: Handle<"chat"> = says("Hi", " there"),
  settings: Partial<CoreSettings> = {},
  parts: Partial<CoreParts> = {},
) {
  const models = [chatModel("chat-1"), chatModel("chat-2")];
  const backend = scripted({ chat }, models);
  const kept = { ttlMs: hour, scope: "caller", maxAnswerBytes: 1000, ...settings.cache } as const;
  const store = memoryCache(1_000_000);
  const core = coreOf([backend], { ...settings, cache: kept }, { cache: store, ...parts });
  const ask = async (
    request: object = {},
    origin: Partial<Origin> & { control?: string } = {},
    method: "chat" | "complete" = "complete",
  ) => {
    const { control, ...rest } = origin;
    const header = (name: string) => (name === "cache-control" ? control : undefined);
    const told = await calls.outcome(core, method, { ...hello, ...request }, { header, ...rest });
    return { ...told, status: told.metadata.get("cache-status") };
  };
  return { core, backend, ask, store };
}

export const miss = "lintel; fwd=miss";
/** Where the clock stands still. */
export const hit = "lintel; hit; ttl=3600";
/** Where it does not. */
export const someHit = expect.stringMatching(/^lintel; hit; ttl=\d+$/);

/** What an answer says, whole or in pieces. */
export const saidIn = (messages: readonly LLMResponse[]) =>
  messages.map(({ choices: [choice] }) => (choice?.delta ?? choice?.message)?.content).join("");
