/** MiniMax, which tells of its errors in `base_resp` of answers with status 200. */
import { describe, expect, it } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import type { LintelError } from "../../src/core/errors.js";
import { compatibleKinds } from "./ai-sdk-subject.js";
import { fixture } from "./fixture.js";
import { backendFor, chatRequest, chunk } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

/** The text of a completion, or what it failed with. */
async function outcome(
  backendAt: (url: string) => Backend,
  method: "chat" | "complete",
  script: Script,
) {
  const backend = opened(backendAt((await serve(script)).url));
  const call = callOf(method, chatRequest());
  let text = "";
  try {
    for await (const step of backend.handlers[method]?.(call as never) ?? []) {
      for (const { choices } of step) text += choices[0]?.delta?.content ?? "";
    }
  } catch (thrown) {
    return { text, error: thrown as LintelError };
  }
  return { text, error: undefined };
}

const refusal = (status_code: number, status_msg: string) => ({
  ...{ id: "04ed", choices: null, object: "chat.completion", usage: { total_tokens: 0 } },
  base_resp: { status_code, status_msg },
});

const seen = ({ cause }: LintelError) => (cause as Error | undefined)?.message;

describe.each(compatibleKinds)("by %s", (_, backendAt) => {
  it("says in the log why it answers nothing", async () => {
    for (const method of ["chat", "complete"] as const) {
      const { error } = await outcome(backendAt, method, (e) =>
        e.play(fixture("minimax/no-balance")),
      );
      expect(error).toMatchObject({ code: "upstream_failed", retry: "elsewhere" });
      expect(error?.message).not.toContain("balance");
      expect(seen(error as LintelError)).toBe("insufficient balance (1008)");
    }
  });

  it.each([
    [1001, "request timeout", "timeout", "anywhere"],
    [1002, "rate limit exceeded(RPM)", "rate_limited", "anywhere"],
    [1004, "login fail", "upstream_failed", "elsewhere"],
    [1026, "input new_sensitive", "content_blocked", "never"],
    [1027, "output new_sensitive", "content_blocked", "never"],
    [1033, "system error", "upstream_failed", "doubtful"],
    [2013, "invalid params, temperature", "invalid_value", "never"],
    [2013, "invalid params, unknown model 'm' (2013)", "upstream_failed", "elsewhere"],
    [2056, "usage limit exceeded (2056)", "rate_limited", "anywhere"],
    [9999, "what nobody knows", "upstream_failed", "doubtful"],
  ])("means as much as others: %i %s", async (status, words, code, retry) => {
    const body = refusal(status, words);
    const scripts = [
      ["complete", (e) => e.sendJson(200, body)],
      ["chat", (e) => e.sendJson(200, body)],
      ["chat", (e) => e.stream(body)],
      ["chat", (e) => e.stream(chunk({ content: "a" }), body)],
    ] satisfies ["chat" | "complete", Script][];
    for (const [method, script] of scripts) {
      const { error } = await outcome(backendAt, method, script);
      expect(error).toMatchObject({ code, retry });
      const told = code === "content_blocked" || code === "invalid_value";
      if (told) expect(error?.message).toContain(words);
      else expect(seen(error as LintelError)).toContain(words);
    }
  });

  it("is read to the end where all went well", async () => {
    const { text, error } = await outcome(backendAt, "chat", (e) =>
      e.play(fixture("minimax/stream")),
    );
    expect([text, error]).toEqual(["Hello", undefined]);
  });
});

describe("with another status", () => {
  it("has its words, too", async () => {
    const { error } = await outcome(backendFor, "chat", (exchange) =>
      exchange.sendJson(400, refusal(1039, "token limit")),
    );
    expect(error).toMatchObject({
      code: "invalid_value",
      message: "the model server refused the request: token limit (1039)",
    });
  });

  it("does not hide an error in the usual form", async () => {
    const { error } = await outcome(backendFor, "chat", (exchange) =>
      exchange.sendJson(200, { ...refusal(1002, "x"), error: { message: "no", code: 400 } }),
    );
    expect(error).toMatchObject({
      code: "invalid_value",
      message: "the model server refused the request: no",
    });
  });
});
