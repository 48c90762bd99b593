/** Errors of servers that the provider does not understand: told all the same. */
import { describe, expect, it } from "vitest";
import { chatted, thrownBy } from "./ai-sdk-calls.js";
import { at, whole } from "./ai-sdk-compatible.js";
import { fixture } from "./fixture.js";
import { chatRequest, chunk } from "./openai-subject.js";
import { serve } from "./serve.js";
import { callOf } from "./subject.js";
import { cut } from "./upstream.js";

describe("an error that the provider does not understand", () => {
  it("is told in its own words", async () => {
    const body = [{ error: { code: 400, message: "Multiturn chat is not enabled", status: "X" } }];
    const backend = at(await serve((exchange) => exchange.sendJson(400, body)));
    expect(await thrownBy(chatted(backend))).toMatchObject({
      code: "invalid_value",
      message: "the model server refused the request: Multiturn chat is not enabled",
    });
  });

  it("of its own failure is for the log", async () => {
    const body = [{ error: { code: 500, message: "CUDA out of memory" } }];
    const backend = at(await serve((exchange) => exchange.sendJson(500, body)));
    const { message, cause } = await thrownBy(chatted(backend));
    expect(message).not.toContain("CUDA");
    expect((cause as Error).message).toBe("CUDA out of memory");
  });

  it.each([
    [
      { message: "too long", code: 400 },
      "invalid_value",
      "the model server refused the request: too long",
    ],
    [{ message: "slow down", code: 429 }, "rate_limited", "the model server is at its limit"],
    [{ message: "CUDA", code: 500 }, "upstream_failed", "the model server failed (status 500)"],
  ])(
    "has its own meaning also in a whole answer with status 200: %j",
    async (error, code, message) => {
      const backend = at(await serve((exchange) => exchange.sendJson(200, { error })));
      expect(await thrownBy(whole(backend))).toMatchObject({ code, message });
    },
  );

  it.each([
    [{ object: "error", message: "too long", type: "BadRequestError", code: 400 }, "invalid_value"],
    [[{ error: { code: 429, message: "slow down", status: "X" } }], "rate_limited"],
    [{ detail: "what is this" }, "upstream_failed"],
  ])("has it as the first event, in whatever form: %j", async (event, code) => {
    const backend = at(await serve((exchange) => exchange.stream(event)));
    expect(await thrownBy(chatted(backend))).toMatchObject({ code });
  });

  const overloaded = { message: "Model is overloaded", http_status_code: 422 };
  const flagged = { message: "flagged", code: 403, metadata: { flagged_input: "a" } };

  it.each([
    ["TGI's overload", { error: overloaded }, "unavailable"],
    ["OpenRouter's moderation", { error: flagged }, "content_blocked"],
    ["one beside a choice", { ...chunk({}, "error"), error: { code: 429 } }, "rate_limited"],
  ])("has the meaning that the whole of it has: %s", async (_, event, code) => {
    const backend = at(await serve((exchange) => exchange.stream(event)));
    expect(await thrownBy(chatted(backend))).toMatchObject({ code });
  });

  it.each([
    ["error", { error: { code: 503, message: "busy" } }, "unavailable"],
    ["stop", { error: { code: 429, message: "slow down" } }, "rate_limited"],
    ["stop", { native_finish_reason: "network_error" }, "upstream_failed"],
  ])("counts also inside of a choice: %s, %j", async (finish_reason, more, code) => {
    const told = { role: "assistant", content: "" };
    const choice = { index: 0, finish_reason, ...more };
    const backend = at(
      await serve((exchange) =>
        exchange.json().stream
          ? exchange.stream({ choices: [{ ...choice, delta: told }] }, "data: [DONE]\n\n")
          : exchange.sendJson(200, { choices: [{ ...choice, message: told }] }),
      ),
    );
    for (const run of [chatted(backend), whole(backend)]) {
      expect(await thrownBy(run)).toMatchObject({ code });
    }
  });

  const words = "the model server refused the request: too long";
  const json = { error: { message: "too long", code: 400 } };

  describe.each([0, 1])("counts also where it stands in no event, after %i of them", (events) => {
    it.each([
      ["in a line", `${JSON.stringify(json)}\n`],
      ["in a line without an end", JSON.stringify(json)],
      ["in a list", `${JSON.stringify([json])}\r\n\r\n`],
      ["in lines", JSON.stringify(json, null, 2)],
      ["as llama.cpp once had it", `error: ${JSON.stringify(json.error)}\n\n`],
      ["before the marker", `${JSON.stringify(json)}\n\ndata: [DONE]\n\n`],
    ])("%s", async (_, error) => {
      const said = Array<string>(events).fill(
        `data: ${JSON.stringify(chunk({ content: "ä" }))}\n\n`,
      );
      const bytes = Buffer.from(said.join("") + error);
      for (const size of [bytes.length, 1, 7]) {
        const backend = at(
          await serve(async (exchange) => {
            await exchange.head(200, { "content-type": "text/event-stream" });
            for (const piece of cut(bytes, size)) await exchange.chunk(piece);
            await exchange.end();
          }),
        );
        const call = callOf("chat", chatRequest());
        let text = "";
        const read = async () => {
          for await (const step of backend.handlers.chat?.(call) ?? []) {
            for (const { choices } of step) text += choices[0]?.delta?.content ?? "";
          }
        };
        expect(await thrownBy(read())).toMatchObject({ code: "invalid_value", message: words });
        expect(text).toBe("ä".repeat(events));
      }
    });
  });

  it("is none that is a line of something else, and text that looks like one is text", async () => {
    const text = '\n{"error":"no"}\nerror: no';
    const end = [chunk({ content: text }), chunk({}, "stop"), "data: [DONE]\n\n"];
    const backend = at(
      await serve((e) => e.stream('{"debug":1}\n', chunk({ content: "a" }), ...end)),
    );
    expect((await chatted(backend)).text).toBe(`a${text}`);
  });

  it("counts by its status, also where its body has no end", async () => {
    const server = await serve(async (exchange) => {
      await exchange.head(503, { "content-type": "text/html", "retry-after": "3" });
      let gone = false;
      void exchange.gone.then(() => {
        gone = true;
      });
      while (!gone) {
        await exchange.chunk(Buffer.alloc(64 * 1024, "<p>"));
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    const expected = { code: "unavailable", retryAfter: 3 };
    expect(await thrownBy(whole(at(server)))).toMatchObject(expected);
    expect(await thrownBy(chatted(at(server)))).toMatchObject(expected);
  });

  it("says when to come again", async () => {
    const backend = at(await serve((exchange) => exchange.play(fixture("google/rate-limited"))));
    expect(await thrownBy(chatted(backend))).toMatchObject({
      code: "rate_limited",
      askedDelay: 35,
    });
  });
});
