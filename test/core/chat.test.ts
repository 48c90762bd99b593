import { describe, expect, it } from "vitest";
import { coreOf, run } from "../support/core.js";
import { say } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { hello } from "../support/routing.js";
import { piece, says, scripted } from "../support/scripted.js";
import { failure, models } from "./chatting.js";

describe("completions", () => {
  it("a stream has one id, model and time, zeros for usage, and the totals last", async () => {
    const all = await run(coreOf([scripted({ chat: says("Hel", "lo") }, models)]), "chat", hello);
    expect(all.map((m) => m.choices[0]?.delta?.content)).toEqual(["Hel", "lo", ""]);
    expect(all.map((m) => m.choices[0]?.finishReason)).toEqual(["", "", "stop"]);
    expect(new Set(all.map((m) => `${m.id} ${m.created} ${m.model}`)).size).toBe(1);
    expect(all[0]?.id).toMatch(/^chatcmpl-.{20,}/);
    expect(all[0]?.model).toBe("chat-1");
    expect(Math.abs((all[0]?.created ?? 0) - Date.now() / 1000)).toBeLessThan(60);
    expect(all.map((m) => m.usage?.totalTokens)).toEqual([0, 0, 9]);
    expect(
      all.every((m) => m.choices.length === 1 && m.choices[0]?.delta?.role === "assistant"),
    ).toBe(true);
  });

  it("usage after the finish reason, in a message without choices, is taken", async () => {
    const chat = async function* () {
      yield [piece("a"), piece("", "length")];
      yield [{ ...piece("", "", [3, 4]), choices: [] }];
    };
    const all = await run(coreOf([scripted({ chat }, models)]), "chat", hello);
    expect(all.length).toBe(2);
    expect(all[1]).toMatchObject({ usage: { totalTokens: 7 }, usageEstimated: false });
    expect(all[1]?.choices[0]).toMatchObject({ finishReason: "length", delta: { content: "" } });
  });

  it("usage after the finish reason, beside a choice that says nothing, is taken", async () => {
    const core = coreOf([
      scripted({
        chat: async function* () {
          yield [piece("hello", "stop"), piece("", "", [3, 1])];
        },
      }),
    ]);
    const last = (await run(core, "chat", hello)).at(-1);
    expect(last?.choices[0]?.finishReason).toBe("stop");
    expect(last?.usage).toMatchObject({ promptTokens: 3, completionTokens: 1 });
  });
  it("usage that comes with every piece is the last one's", async () => {
    const chat = async function* () {
      yield [piece("a", "", [3, 1])];
      yield [piece("b", "stop", [3, 2])];
    };
    const last = (await run(coreOf([scripted({ chat })]), "chat", hello)).at(-1);
    expect(last?.usage).toMatchObject({ promptTokens: 3, completionTokens: 2 });
  });
  it("text in the same message as the finish reason is not lost", async () => {
    const chat = async function* () {
      yield [piece("all at once", "stop")];
    };
    const all = await run(coreOf([scripted({ chat }, models)]), "chat", hello);
    expect(all.map((m) => m.choices[0]?.delta?.content)).toEqual(["all at once", ""]);
  });

  it("characters that a model server cuts in two are put together, a half that is left is U+FFFD", async () => {
    const cut = says("a\ud83d", "\ude00", "b", "\ud83d", "\ude00\ud83d");
    const all = await run(coreOf([scripted({ chat: cut }, models)]), "chat", hello);
    const texts = all.map((m) => m.choices[0]?.delta?.content);
    expect(texts).toEqual(["a", "\u{1f600}", "b", "\u{1f600}", "\ufffd", ""]);
    expect(all.at(-1)?.choices[0]?.finishReason).toBe("stop");
  });

  it("halves of characters inside of a text are U+FFFD, streamed and whole: UTF-8 has none", async () => {
    const core = coreOf([scripted({ chat: says("a\udc00b", "\ud83dc", "\ud83d", "d") }, models)]);
    const pieces = await run(core, "chat", hello);
    const texts = pieces.map((m) => m.choices[0]?.delta?.content);
    expect(texts).toEqual(["a\ufffdb", "\ufffdc", "\ufffdd", ""]);
    const [whole] = await run(core, "complete", hello);
    expect(whole?.choices[0]?.message?.content).toBe(texts.join(""));
  });

  it("tool_calls of an answer that calls nothing is stop, streamed and whole: clients would run nothing for ever", async () => {
    const chat = async function* () {
      yield [piece("Hello", "tool_calls")];
    };
    const core = coreOf([scripted({ chat }, models)]);
    const pieces = await run(core, "chat", hello);
    const [whole] = await run(core, "complete", hello);
    const reasons = [...pieces, whole].map((message) => message?.choices[0]?.finishReason);
    expect(reasons).toEqual(["", "stop", "stop"]);
  });

  it("a stream that ends upstream without a finish reason is an upstream failure", async () => {
    const chat = async function* () {
      yield [piece("a")];
    };
    const core = coreOf([scripted({ chat }, models)]);
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("upstream_failed"));
    await expect(run(core, "complete", hello)).rejects.toEqual(failure("upstream_failed"));
  });

  it("the whole form is made of the streamed one, with message and no delta", async () => {
    const [whole] = await run(
      coreOf([scripted({ chat: says("Hel", "lo") }, models)]),
      "complete",
      hello,
    );
    expect(whole?.choices[0]).toMatchObject({
      finishReason: "stop",
      message: { content: "Hello", role: "assistant" },
    });
    expect(whole?.choices[0]?.delta).toBeUndefined();
    expect(whole?.usage).toMatchObject({ promptTokens: 7, completionTokens: 2, totalTokens: 9 });
  });

  it("the streamed form is made of the whole one", async () => {
    const complete = async function* () {
      const { choices, ...rest } = piece("", "", [1, 2]);
      yield [
        {
          ...rest,
          choices: [
            {
              ...choices[0],
              $typeName: "lintel.v1.LLMChoice" as const,
              index: 0,
              finishReason: "eos",
              delta: undefined,
              message: say("assistant", "Hi"),
            },
          ],
        },
      ];
    };
    const all = await run(coreOf([scripted({ complete }, models)]), "chat", hello);
    expect(all.map((m) => m.choices[0]?.delta?.content)).toEqual(["Hi", ""]);
    // An unknown reason of the model server becomes stop.
    expect(all[1]?.choices[0]?.finishReason).toBe("stop");
  });

  it("without reported usage the counts are estimated, and say so", async () => {
    const chat = async function* () {
      yield [piece("some words here"), piece("", "stop")];
    };
    const [whole] = await run(coreOf([scripted({ chat }, models)]), "complete", hello);
    expect(whole?.usageEstimated).toBe(true);
    expect(whole?.usage?.completionTokens).toBeGreaterThan(0);
    expect(whole?.usage?.promptTokens).toBeGreaterThan(0);
  });

  it.each(["chat", "complete"] as const)(
    "a prompt that is counted as nothing is estimated, and says so: %s",
    async (method) => {
      const chat = async function* () {
        yield [piece("some words"), piece("", "stop", [0, 4])];
      };
      const last = (await run(coreOf([scripted({ chat }, models)]), method, hello)).at(-1);
      expect(last).toMatchObject({ usageEstimated: true, usage: { completionTokens: 4 } });
      expect(last?.usage?.promptTokens).toBeGreaterThan(0);
    },
  );

  it.each(["chat", "complete"] as const)(
    "a text that is counted as nothing is estimated, and says so; no text is nothing: %s",
    async (method) => {
      const lastOf = async (text: string) => {
        const chat = async function* () {
          yield [piece(text), piece("", "stop", [7, 0])];
        };
        return (await run(coreOf([scripted({ chat }, models)]), method, hello)).at(-1);
      };
      const usage = { promptTokens: 7, completionTokens: 3, totalTokens: 10 };
      expect(await lastOf("some words")).toMatchObject({ usageEstimated: true, usage });
      const none = { promptTokens: 7, completionTokens: 0, totalTokens: 7 };
      expect(await lastOf("")).toMatchObject({ usageEstimated: false, usage: none });
    },
  );

  it.each<{ counts: [number, number][] }>([
    { counts: [[0, 2 ** 32 - 1]] },
    { counts: [[2 ** 32 - 1, 0]] },
    { counts: [[2 ** 31, 2 ** 31]] },
    {
      counts: [
        [2 ** 32 - 2, 1],
        [2 ** 32 - 2, 2],
      ],
    },
  ])(
    "counts that have no sum in the contract are estimated, and say so: %j",
    async ({ counts }) => {
      const chat = async function* () {
        yield [piece("some words"), ...counts.map((usage) => piece("", "", usage))];
        yield [piece("", "stop")];
      };
      const core = coreOf([scripted({ chat }, models)]);
      const [whole] = await run(core, "complete", hello);
      const last = (await run(core, "chat", hello)).at(-1);
      for (const answer of [whole, last]) {
        expect(answer?.usageEstimated).toBe(true);
        const { promptTokens = 0, totalTokens } = answer?.usage ?? {};
        expect(promptTokens).toBeLessThan(100);
        expect(answer?.usage).toMatchObject({ completionTokens: 3, totalTokens: promptTokens + 3 });
        expect(totalTokens).toBeGreaterThan(3);
      }
    },
  );

  it("backends get every default filled in; values equal to a default count as not set", async () => {
    const backend = scripted({ chat: says("x") }, [
      chatModel("chat-1", { supports: ["max_tokens"], defaults: { temperature: 0.2 } }),
    ]);
    const core = coreOf([backend]);
    const [answer] = await run(core, "complete", {
      ...hello,
      model: "",
      temperature: 0.7,
      topP: 1,
      topK: -1,
      seed: -1n,
    });
    expect(answer?.warnings).toEqual([]);
    expect(backend.asked[0]).toMatchObject({
      model: "chat-1",
      temperature: 0.2,
      maxTokens: 256,
      topP: 1,
      topK: -1,
    });
    const [warned] = await run(core, "complete", { ...hello, topK: 5 });
    expect(warned?.warnings).toEqual(["top_k: not supported by this model, ignored"]);
    expect(backend.asked[1]).toMatchObject({ topK: -1 });
  });

  it("a default outside of the operator's bounds is moved into them", async () => {
    const backend = scripted({ chat: says("x") }, models);
    const bounds = { max_tokens: { max: 100 }, temperature: { min: 1 }, top_p: { max: 1 } };
    for (const entries of [[], [{ name: "chat-1", defaults: { max_tokens: 2000 } }]]) {
      await run(coreOf([backend], { bounds, models: entries }), "complete", hello);
      expect(backend.asked.pop()).toMatchObject({ maxTokens: 100, temperature: 1, topP: 1 });
    }
    await run(coreOf([backend], { bounds }), "complete", { ...hello, maxTokens: 256 });
    expect(backend.asked.pop()).toMatchObject({ maxTokens: 100 });
  });

  it("a default of top_k means all, the most that the operator allows", async () => {
    const backend = scripted({ chat: says("x") }, models);
    const asked = async (bound: object) => {
      await run(coreOf([backend], { bounds: { top_k: bound } }), "complete", hello);
      return backend.asked.pop();
    };
    expect(await asked({ min: 1, max: 100 })).toMatchObject({ topK: 100 });
    await run(coreOf([backend], { bounds: { top_k: { max: 9 } } }), "complete", {
      ...hello,
      topK: 0,
    });
    expect(backend.asked.pop()).toMatchObject({ topK: 9 });
    expect(await asked({ min: 1 })).toMatchObject({ topK: -1 });
  });

  it("max_tokens stays under the model's cap", async () => {
    const backend = scripted({ chat: says("x") }, [chatModel("chat-1", { maxTokens: 100 })]);
    await expect(
      run(coreOf([backend]), "complete", { ...hello, maxTokens: 101 }),
    ).rejects.toMatchObject({
      code: "invalid_fields",
      violations: [{ field: "max_tokens", message: "must be from 1 to 100 for this model" }],
    });
    await run(coreOf([backend]), "complete", hello);
    expect(backend.asked[0]).toMatchObject({ maxTokens: 100 });
  });

  it.each([
    ["the operator's", { maxTokens: 1024 }, {}],
    ["the backend's", {}, { maxTokens: 1024 }],
  ])("a default above the cap is cut to it, no caller's fault: %s", async (_, entry, model) => {
    const backend = scripted({ chat: says("x") }, [chatModel("chat-1", model)]);
    const core = coreOf([backend], {
      models: [{ name: "chat-1", defaults: { max_tokens: 2048 }, ...entry }],
    });
    const ask = (maxTokens?: number) =>
      run(core, "complete", { ...hello, model: "chat-1", maxTokens });
    await ask();
    await ask(256);
    await ask(512);
    expect(backend.asked).toMatchObject([
      { maxTokens: 1024 },
      { maxTokens: 1024 },
      { maxTokens: 512 },
    ]);
    await expect(ask(2048)).rejects.toEqual(failure("invalid_fields"));
  });
});
