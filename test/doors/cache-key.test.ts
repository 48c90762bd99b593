/** The key of a prompt's begin, on each door. */
import { describe, expect, test } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";
import { hello, json, serve } from "./serve.js";

/** A request of each path that answers. */
const requests: Readonly<Record<string, object>> = {
  "/llm": hello(),
  "/v1/chat/completions": hello(),
  "/v1/responses": { input: "Hello" },
  "/v1/messages": hello({ max_tokens: 5 }),
  "/lintel.v1.ChatService/Complete": hello(),
};

describe.each(Object.keys(requests))("prompt_cache_key by %s", (path) => {
  const served = async () => {
    const backend = scripted({ chat: says("Hi") }, [chatModel("chat-1")]);
    const { post } = await serve(backend);
    return {
      ask: (key: unknown) => post(path, { ...requests[path], prompt_cache_key: key }),
      keys: () => backend.asked.map((asked) => (asked as LLMRequest).promptCacheKey),
    };
  };

  test("reaches the model server", async () => {
    const { ask, keys } = await served();
    for (const key of ["k-1", "ü 🌍\n", "a".repeat(512), "", null]) {
      const answer = await ask(key);
      expect([answer.status, answer.status === 200 || (await answer.text())]).toEqual([200, true]);
    }
    expect(keys()).toEqual(["k-1", "ü 🌍\n", "a".repeat(512), "", ""]);
  });

  test("in a wrong form is told so", async () => {
    const { ask, keys } = await served();
    for (const key of ["a".repeat(513), 123, { id: "a" }]) {
      const answer = await ask(key);
      expect([400, 422]).toContain(answer.status);
      expect(JSON.stringify(await json(answer))).toMatch(/\bprompt_cache_key\b.*must be/);
    }
    expect(keys()).toEqual([]);
  });
});
