import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { coreOf, run } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { breaksAfter, hangsAfter, piece, says, scripted } from "../support/scripted.js";

const hello = { messages: [{ role: "user", content: "Hello" }] };
const models = [chatModel("chat-1")];
const failure = (code: LintelError["code"]) => expect.objectContaining({ code });

/** A core before a backend that holds something while it answers, with the lines of its log. */
function holding(...batches: ReturnType<typeof piece>[][]) {
  let freed: () => void = () => {};
  const released = new Promise<void>((resolve) => {
    freed = resolve;
  });
  const chat = async function* () {
    try {
      yield* batches;
    } finally {
      freed();
    }
  };
  const lines: object[] = [];
  const log = { ...silent, info: (fields: object) => lines.push(fields) };
  return { core: coreOf([scripted({ chat }, models)], {}, { log }), released, lines };
}

/** A call that its test reads by itself. */
function started(core: ReturnType<typeof coreOf>, method: "chat" | "complete") {
  const request = create(LLMRequestSchema, { messages: [{ role: "user", content: "Hello" }] });
  const { signal } = new AbortController();
  return core.call(method, request, { door: "test", credential: "me", signal });
}

describe("decisions 1: completions", () => {
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
              message: {
                $typeName: "lintel.v1.LLMMessage" as const,
                role: "assistant",
                content: "Hi",
              },
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

describe("decisions 5: authentication", () => {
  const backend = () => scripted({ chat: says("x") }, models);
  it("public: some token must be there, any will do", async () => {
    await run(coreOf([backend()]), "complete", hello, { credential: "anything" });
    await expect(
      run(coreOf([backend()]), "complete", hello, { credential: undefined }),
    ).rejects.toEqual(failure("invalid_token"));
  });
  it("token: only issued ones, stored as hashes, for the models they name", async () => {
    const token = createToken();
    const other = createToken();
    const core = coreOf(
      [scripted({ chat: says("x") }, [chatModel("chat-1"), chatModel("big-1")])],
      {
        auth: {
          mode: "token",
          tokens: [
            { name: "a", hash: hashToken(token), models: ["chat-*"] },
            { name: "b", hash: hashToken(other) },
          ],
        },
      },
    );
    await run(core, "complete", { ...hello, model: "chat-1" }, { credential: token });
    await run(core, "complete", { ...hello, model: "big-1" }, { credential: other });
    await expect(
      run(core, "complete", { ...hello, model: "big-1" }, { credential: token }),
    ).rejects.toEqual(failure("model_not_allowed"));
    await expect(run(core, "complete", hello, { credential: "me" })).rejects.toEqual(
      failure("invalid_token"),
    );
    const [list] = await run(core, "listModels", {}, { credential: token });
    expect(list?.models.map((m) => m.id)).toEqual(["chat-1"]);
  });
  it("none: without a token, chosen in so many words", async () => {
    await run(coreOf([backend()], { auth: { mode: "none" } }), "complete", hello, {
      credential: undefined,
    });
  });
  it("comes before validation and before what the door found", async () => {
    const defect = new LintelError("invalid_json", "broken");
    const core = coreOf([backend()]);
    await expect(run(core, "complete", {}, { credential: undefined, defect })).rejects.toEqual(
      failure("invalid_token"),
    );
    await expect(run(core, "complete", {}, { defect })).rejects.toBe(defect);
  });
});

describe("routing", () => {
  it("an unknown model is model_not_found, and so is one of the other operation", async () => {
    const core = coreOf([scripted({ chat: says("x") })]);
    await expect(run(core, "complete", { ...hello, model: "nope" })).rejects.toMatchObject({
      code: "model_not_found",
      param: "model",
    });
    await expect(
      run(core, "textToImage", { prompt: "x", modelId: "chat-1" }),
    ).rejects.toMatchObject({ code: "model_not_found", param: "model_id" });
  });
  it("an early failure fails over to the next backend; attempts are counted once each", async () => {
    const bad = scripted(
      { chat: breaksAfter(new LintelError("upstream_unreachable", "gone")) },
      models,
      "bad",
    );
    const good = scripted({ chat: says("x") }, models, "good");
    expect((await run(coreOf([bad, good]), "chat", hello)).length).toBe(2);
    expect([bad.asked.length, good.asked.length]).toEqual([1, 1]);
  });
  it("after the first message nothing is repeated, and nothing glued on", async () => {
    const bad = scripted(
      { chat: breaksAfter(new LintelError("upstream_failed", "gone"), "half") },
      models,
      "bad",
    );
    const good = scripted({ chat: says("x") }, models, "good");
    await expect(run(coreOf([bad, good]), "chat", hello)).rejects.toEqual(
      failure("upstream_failed"),
    );
    expect(good.asked.length).toBe(0);
  });
  it("a request that the model server refuses is not tried elsewhere", async () => {
    const bad = scripted(
      { chat: breaksAfter(new LintelError("invalid_value", "too long")) },
      models,
      "bad",
    );
    const good = scripted({ chat: says("x") }, models, "good");
    await expect(run(coreOf([bad, good]), "chat", hello)).rejects.toEqual(failure("invalid_value"));
  });
  it("a backend that does not know its models yet is waited for", async () => {
    let list: readonly ReturnType<typeof chatModel>[] = [];
    const late = scripted({ chat: says("x") }, [], "late", {
      models: () => list,
      ready: async () => {
        await new Promise(setImmediate);
        list = models;
      },
    });
    const [answer] = await run(coreOf([late]), "complete", { ...hello, model: "chat-1" });
    expect(answer?.model).toBe("chat-1");
    await expect(run(coreOf([late]), "complete", { ...hello, model: "nope" })).rejects.toEqual(
      failure("model_not_found"),
    );
  });
  it("of several backends that load a model, the first to have it answers", async () => {
    const state = State.LOADING;
    const broken = scripted({ chat: says("x") }, [chatModel("chat-1", { state })], "broken", {
      ready: () => Promise.reject(new LintelError("unavailable", "no memory")),
    });
    let list = [chatModel("chat-1", { state })];
    const late = scripted({ chat: says("x") }, [], "late", {
      models: () => list,
      ready: async () => {
        await new Promise(setImmediate);
        list = models;
      },
    });
    await run(coreOf([broken, late]), "complete", hello);
    expect([broken.asked.length, late.asked.length]).toEqual([0, 1]);
    await expect(run(coreOf([broken]), "complete", hello)).rejects.toEqual(failure("unavailable"));
  });
  it("a model is not called unknown while a backend that may have it can't be asked", async () => {
    const away = scripted({ chat: says("x") }, [], "away", {
      ready: () => Promise.reject(new LintelError("upstream_unreachable", "gone")),
    });
    const good = scripted({ chat: says("x") }, models, "good");
    const core = coreOf([away, good]);
    await expect(run(core, "complete", { ...hello, model: "nope" })).rejects.toEqual(
      failure("unavailable"),
    );
    await run(core, "complete", { ...hello, model: "chat-1" });
  });
  it("an alias leads to a backend's model and answers under its own name", async () => {
    const a = scripted({ chat: says("x") }, [chatModel("up")], "a");
    const b = scripted({ chat: says("x") }, [chatModel("up")], "b");
    const core = coreOf([a, b], {
      models: [{ name: "fast", model: "up", backends: ["b"] }],
      defaultModels: { chat: "fast" },
    });
    const [answer] = await run(core, "complete", hello);
    expect(answer?.model).toBe("fast");
    expect(b.asked[0]).toMatchObject({ model: "up" });
    expect(a.asked.length).toBe(0);
  });
});

describe("the life of a call", () => {
  it("a caller who leaves aborts the work behind, before and after the first message", async () => {
    for (const pieces of [[], ["a"]]) {
      const { handle, aborted } = hangsAfter(...pieces);
      const core = coreOf([scripted({ chat: handle }, models)]);
      const controller = new AbortController();
      const running = run(core, "chat", hello, { signal: controller.signal });
      setImmediate(() => controller.abort());
      await expect(running).rejects.toEqual(failure("cancelled"));
      await aborted;
      expect(core.readiness.running).toBe(0);
    }
  });
  it("what a backend holds is freed also if nobody asks for the next message", async () => {
    const { core, released, lines } = holding([piece("a")], [piece("b")]);
    for await (const _ of started(core, "chat").messages) break;
    await released;
    // Usage counts what was delivered.
    expect(lines).toMatchObject([{ code: "cancelled", completionTokens: 1, promptTokens: 6 }]);
  });
  it("a whole completion ends with its message, and what made it is let go", async () => {
    const { core, released, lines } = holding([piece("a", "stop")]);
    const iterator = started(core, "complete").messages[Symbol.asyncIterator]();
    expect(await iterator.next()).toMatchObject({ done: false, value: [{ usage: {} }] });
    // Nobody asked whether more comes.
    expect([core.readiness.running, lines.length]).toEqual([0, 1]);
    expect(lines).toMatchObject([{ code: "ok", completionTokens: 1 }]);
    await released;
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });
  it("a backend that does not notice holds nobody up", async () => {
    const core = coreOf([
      scripted(
        {
          chat: () => ({
            [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }),
          }),
        },
        models,
      ),
    ]);
    const controller = new AbortController();
    const running = run(core, "chat", hello, { signal: controller.signal });
    setImmediate(() => controller.abort());
    await expect(running).rejects.toEqual(failure("cancelled"));
  });
  it("the caller's deadline ends it with timeout", async () => {
    const { handle, aborted } = hangsAfter("a");
    const core = coreOf([scripted({ chat: handle }, models)]);
    await expect(run(core, "chat", hello, { timeoutMs: 5 })).rejects.toEqual(failure("timeout"));
    await aborted;
  });
  it("no call leaves a timer behind that keeps it in memory", async () => {
    const good = coreOf([scripted({ chat: says("a") }, models)]);
    const bad = coreOf([scripted({ chat: breaksAfter(new Error("broken"), "a") }, models)]);
    const timers = () => process.getActiveResourcesInfo().filter((it) => it === "Timeout").length;
    const before = timers();
    for (let i = 0; i < 20; i++) {
      await run(good, "chat", hello);
      await expect(run(bad, "chat", hello)).rejects.toEqual(failure("internal"));
    }
    // This process has others, that come and go.
    expect(timers()).toBeLessThan(before + 20);
  });
  it("drain refuses new work and waits for what runs; abort ends it", async () => {
    const { handle } = hangsAfter("a");
    const core = coreOf([scripted({ chat: handle }, models)]);
    const running = run(core, "chat", hello);
    while (core.readiness.running === 0) await new Promise(setImmediate);
    const drained = core.drain();
    expect(core.readiness.accepting).toBe(false);
    await expect(run(core, "chat", hello)).rejects.toEqual(failure("shutting_down"));
    core.abort();
    await expect(running).rejects.toEqual(failure("shutting_down"));
    await drained;
  });
  it("ends at once also between two steps, which a slow caller may never ask for", async () => {
    const { handle } = hangsAfter("a");
    const lines: object[] = [];
    const log = { ...silent, warn: (fields: object) => lines.push(fields) };
    const core = coreOf([scripted({ chat: handle }, models)], {}, { log });
    const request = create(LLMRequestSchema, hello);
    const { signal } = new AbortController();
    const running = core.call("chat", request, { door: "test", credential: "me", signal });
    const steps = running.messages[Symbol.asyncIterator]();
    await steps.next();
    core.abort();
    expect(core.readiness.running).toBe(0);
    expect(core.routing.snapshot().endpoints).toMatchObject([{ inFlight: 0, failures: 0 }]);
    expect(lines).toMatchObject([{ code: "shutting_down", completionTokens: 1 }]);
    // Who asks later hears of it, once.
    await expect(steps.next()).rejects.toEqual(failure("shutting_down"));
    expect(await steps.next()).toEqual({ done: true, value: undefined });
  });
  it("an unforeseen fault becomes internal, without its words", async () => {
    const core = coreOf([scripted({ chat: breaksAfter(new Error("secret at 10.0.0.1")) }, models)]);
    await expect(run(core, "chat", hello)).rejects.toMatchObject({
      code: "internal",
      message: "internal error",
    });
  });
});
