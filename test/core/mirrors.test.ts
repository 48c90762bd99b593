/** A share of calls goes to another model as well, whose answers nobody sees. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Handle } from "../../src/core/call.js";
import type { DocumentReader } from "../../src/core/documents.js";
import { LintelError } from "../../src/core/errors.js";
import { doneEvent, progressEvent } from "../../src/core/image-events.js";
import { gate as openGate, outcome } from "../support/calls.js";
import { settled } from "../support/clock.js";
import { run } from "../support/core.js";
import { memoryStore } from "../support/media.js";
import { filePart, say } from "../support/messages.js";
import { chatModel, imageModel } from "../support/models.js";
import { backend, fails, gate, hello, inTurn, stateOf, textOf } from "../support/routing.js";
import { breaksAfter, hangsAfter, paints, piece, says, scripted } from "../support/scripted.js";
import { mirroring, outcomes, reasons } from "./mirroring.js";

describe("a mirror", () => {
  it("gets a streamed call as well, under its own name; the caller sees the target's answer alone", async () => {
    const it = mirroring(says("b", "c", "d"));
    const answer = await outcome(it.core, "chat", { ...hello, model: "m", temperature: 0.5 });
    expect(answer).toMatchObject({ code: "ok", warnings: [] });
    expect(answer.messages.map((m) => m.choices[0]?.delta?.content)).toEqual(["real", ""]);
    expect(answer.messages.at(-1)?.usage).toMatchObject({ completionTokens: 1 });
    expect(answer.metadata.get("x-lintel-attempts")).toBe("1");
    await it.core.idle();
    expect(it.real.asked).toMatchObject([{ model: "m", temperature: 0.5 }]);
    expect(it.shadow.asked).toMatchObject([
      { model: "s", temperature: 0.5, messages: [{ content: "Hello" }] },
    ]);
    expect(it.tried).toMatchObject([{ backend: "real" }]);
    expect(it.answered).toMatchObject([
      {
        method: "chat",
        of: { model: "m", completionTokens: 1 },
        record: { backend: "shadow", model: "s", outcome: "ok", firstMs: 0 },
        attributes: { promptTokens: 7, completionTokens: 3, estimated: false },
      },
    ]);
    expect(it.said("call")).toMatchObject([{ backend: "real", attempts: 1, completionTokens: 1 }]);
  });
  it("gets a whole call as such", async () => {
    const complete: Handle<"complete"> = async function* () {
      const usage = piece("", "", [5, 9]).usage;
      const message = { role: "assistant", content: "whole", toolCalls: [] };
      const choice = { ...piece("").choices[0], message, finishReason: "stop" };
      yield [{ ...piece(""), choices: [choice], usage } as never];
    };
    const it = mirroring(scripted({ complete }, [chatModel("s")], "shadow"));
    const [answer] = await run(it.core, "complete", { ...hello, model: "m" });
    expect(answer?.choices[0]?.message?.content).toBe("real");
    await it.core.idle();
    expect(it.answered).toMatchObject([
      { record: { outcome: "ok" }, attributes: { promptTokens: 5, completionTokens: 9 } },
    ]);
  });
  it("is asked behind the target", async () => {
    const asked: string[] = [];
    const notes =
      (name: string): Handle<"chat"> =>
      (call) => {
        asked.push(name);
        return says(name)(call);
      };
    const it = mirroring(notes("shadow"), { real: backend("real", notes("real")) });
    await run(it.core, "chat", { ...hello, model: "m" });
    await it.core.idle();
    expect(asked).toEqual(["real", "shadow"]);
  });
  it("is told its own place in the trace", async () => {
    let trace: unknown;
    const it = mirroring(async function* (call) {
      trace = call.trace?.traceparent;
      yield* says("x")(call);
    });
    await run(it.core, "chat", { ...hello, model: "m" });
    await it.core.idle();
    expect(trace).toBe("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  });
  it("has the time that a call may take, and not what its caller gave it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    let leftMs: number | undefined;
    const shadow: Handle<"chat"> = (call) => {
      leftMs = (call.deadline ?? 0) - performance.now();
      return says("x")(call);
    };
    const it = mirroring(shadow, { model: { timeouts: { total: 60_000 } } });
    await run(it.core, "chat", { ...hello, model: "m" }, { timeoutMs: 10_000 });
    await it.core.idle();
    expect(leftMs).toBe(60_000);
  });
  it("has what it says of the price table in a line of its own, and in no usage", async () => {
    const records: object[] = [];
    const prices = [
      { model: "m", output: 1_000_000 },
      { model: "s", target: { backend: "real" }, output: 1 },
      { model: "s", promptAbove: 7, output: 1 },
      { model: "s", target: { backend: "shadow", model: "s" }, input: 1000, output: 2000 },
    ];
    const sink = { keep: async (record: object) => void records.push(record) };
    const usage = { sink: sink as never, prices };
    const it = mirroring(says("a", "b"), { parts: { usage, prices } });
    await run(it.core, "chat", { ...hello, model: "m" });
    await it.core.idle();
    expect(records).toMatchObject([{ model: "m", backend: "real", completionTokens: 1 }]);
    expect(it.said("mirrored call")).toMatchObject([
      {
        ...{ model: "m", backend: "shadow", mirror: "s", code: "ok", firstMs: 0, totalMs: 0 },
        ...{ promptTokens: 7, completionTokens: 2, spend: (7 * 1000 + 2 * 2000) / 1e6 },
      },
    ]);
  });
  it("is in the log as often as calls are, and always where it failed", async () => {
    const shadow = inTurn(says("a"), fails("unavailable"));
    const settings = { callLog: { sample: 0, content: false } };
    const it = mirroring(shadow, { settings });
    for (let i = 0; i < 2; i++) {
      await run(it.core, "chat", { ...hello, model: "m" });
      await settled();
    }
    await it.core.idle();
    expect(outcomes(it.answered)).toEqual(["ok", "unavailable"]);
    expect(it.said("mirrored call")).toMatchObject([{ code: "unavailable" }]);
  });
  it("makes images that are stored nowhere", async () => {
    let stored = 0;
    const store = memoryStore(() => "http://gateway");
    const put: typeof store.put = (...image) => {
      stored++;
      return store.put(...image);
    };
    const media = { ...store, put };
    const draws = (name: string, id: string) =>
      scripted({ streamTextToImage: paints(1) }, [imageModel(id)], name);
    const it = mirroring(draws("shadow", "s"), { real: draws("real", "m"), parts: { media } });
    const ask = { modelId: "m", prompt: "a|b", numImagesPerPrompt: 2, seed: 5n };
    const [answer] = await run(it.core, "textToImage", ask);
    expect(answer?.images).toHaveLength(4);
    await it.core.idle();
    expect(stored).toBe(4);
    // Of each prompt one, with the same seeds.
    expect(it.shadow.asked.map((asked) => ({ ...asked }))).toMatchObject([
      { modelId: "s", prompt: "a", seed: 5n },
      { modelId: "s", prompt: "b", seed: 7n },
    ]);
    expect(it.answered).toMatchObject([
      { record: { outcome: "ok" }, attributes: { images: 2 } },
      { record: { outcome: "ok" }, attributes: { images: 2 } },
    ]);
    expect(it.said("mirrored call")).toMatchObject([{ images: 2 }, { images: 2 }]);
  });
  it("that waits in its server's queue begins behind that", async () => {
    const turn = openGate();
    const waits: Handle<"streamTextToImage"> = async function* (call) {
      yield [progressEvent({ index: 0, images: 1, step: 0, steps: 1, queuePosition: 3 })];
      await turn.opened;
      yield* paints(1)(call);
    };
    const shadow = scripted({ streamTextToImage: waits }, [imageModel("s")], "shadow");
    const real = scripted({ streamTextToImage: paints(1) }, [imageModel("m")], "real");
    const it = mirroring(shadow, { real });
    await run(it.core, "streamTextToImage", { modelId: "m", prompt: "a" });
    await settled();
    await it.clock.advance(2000);
    turn.open();
    await it.core.idle();
    expect(it.answered).toMatchObject([
      { record: { outcome: "ok", firstMs: 2000 }, attributes: { images: 1 } },
    ]);
  });
  it("that makes half of an image has failed", async () => {
    const part: Handle<"streamTextToImage"> = async function* (call) {
      for await (const batch of paints(1)(call)) {
        if (batch.every(({ event }) => event.case !== "done")) yield batch;
      }
    };
    const none: Handle<"streamTextToImage"> = async function* () {
      yield [doneEvent([])];
    };
    for (const [handle, code] of [
      [part, "upstream_failed"],
      [none, "upstream_failed"],
    ] as const) {
      const shadow = scripted({ streamTextToImage: handle }, [imageModel("s")], "shadow");
      const real = scripted({ streamTextToImage: paints(1) }, [imageModel("m")], "real");
      const it = mirroring(shadow, { real });
      await run(it.core, "streamTextToImage", { modelId: "m", prompt: "a" });
      await it.core.idle();
      expect(outcomes(it.answered)).toEqual([code]);
    }
  });
});

describe("a call that is mirrored", () => {
  it("is not delayed by it: the caller has the whole answer while the mirror has not begun", async () => {
    const slow = gate();
    const it = mirroring(slow.handle);
    expect(await textOf(run(it.core, "chat", { ...hello, model: "m" }))).toBe("real");
    await settled();
    expect([slow.begun, it.core.readiness.running, it.answered.length]).toEqual([1, 0, 0]);
    slow.open();
    await it.core.idle();
    expect(outcomes(it.answered)).toEqual(["ok"]);
  });
  it("is not changed where the mirror fails, at once, in the middle, or can't be asked", async () => {
    const lost = new LintelError("upstream_failed", "gone");
    const refused = "connect ECONNREFUSED";
    const cases: [Handle<"chat">, string, string?][] = [
      [fails("unavailable", { cause: new Error(refused) }), "unavailable", refused],
      [breaksAfter(lost, "a"), "upstream_failed"],
      [
        () => {
          throw new Error("a fault");
        },
        "internal",
        "a fault",
      ],
      [async function* () {}, "upstream_failed"],
    ];
    for (const [shadow, code, cause] of cases) {
      const it = mirroring(shadow);
      const answer = await outcome(it.core, "chat", { ...hello, model: "m" });
      expect(answer).toMatchObject({ code: "ok", warnings: [] });
      await it.core.idle();
      expect(outcomes(it.answered)).toEqual([code]);
      expect(it.said("mirrored call")).toMatchObject([
        { code, error: expect.any(String), cause, spend: undefined },
      ]);
      // Neither again nor elsewhere.
      expect(it.shadow.asked).toHaveLength(1);
      expect(stateOf(it.core, "real")).toMatchObject({ attempts: 1, failures: 0 });
    }
  });
  it("gets no warnings of the mirror's", async () => {
    const it = mirroring(
      scripted({ chat: says("x") }, [chatModel("s", { supports: [] })], "shadow"),
    );
    const answer = await outcome(it.core, "chat", { ...hello, model: "m", temperature: 0.5 });
    expect(answer.warnings).toEqual([]);
    await it.core.idle();
    expect(outcomes(it.answered)).toEqual(["ok"]);
  });
  it("takes no turn of its caller's with documents that are read to the mirror alone", async () => {
    const turns: string[] = [];
    const documents: DocumentReader = {
      read: async (_, caller) => {
        turns.push(caller);
        return { text: "So", pages: 1, blank: 0, damaged: false };
      },
    };
    const taking = (supports: string[], name: string, id: string) =>
      scripted({ chat: says(name) }, [chatModel(id, { supports })], name);
    const real = taking(["file"], "real", "m");
    const it = mirroring(taking([], "shadow", "s"), { real, parts: { documents } });
    const url = `data:application/pdf;base64,${Buffer.from("%PDF-1.7").toString("base64")}`;
    const messages = [say("user", "", { parts: [filePart(url, "a.pdf")] })];
    await run(it.core, "chat", { model: "m", messages });
    await it.core.idle();
    expect(outcomes(it.answered)).toEqual(["ok"]);
    expect(turns).toEqual([""]);
  });
  it("may be left by its caller, and be over: the mirror goes on", async () => {
    const slow = gate("x");
    const real = hangsAfter("real");
    const it = mirroring(slow.handle, { real: backend("real", real.handle) });
    const controller = new AbortController();
    const { signal } = controller;
    const answer = outcome(it.core, "chat", { ...hello, model: "m" }, { signal });
    await settled();
    controller.abort();
    expect(await answer).toMatchObject({ code: "cancelled" });
    await real.aborted;
    expect(slow.signals[0]?.aborted).toBe(false);
    slow.open();
    await it.core.idle();
    expect(outcomes(it.answered)).toEqual(["ok"]);
  });
  it("is mirrored once, however many targets are asked for it", async () => {
    const more = [backend("other", says("other"))];
    const model = { targets: [{ backend: "real" }, { backend: "other", priority: 1 }] };
    const real = backend("real", fails("unavailable"));
    const it = mirroring(says("x"), { real, more, model });
    expect(await textOf(run(it.core, "chat", { ...hello, model: "m" }))).toBe("other");
    await it.core.idle();
    expect(it.shadow.asked).toHaveLength(1);
  });
  it("that comes to no target is not mirrored, nor is a count of tokens, nor a list", async () => {
    const it = mirroring(says("x"));
    expect(await outcome(it.core, "chat", { model: "m" })).toMatchObject({
      code: "invalid_fields",
    });
    await run(it.core, "countTokens", { ...hello, model: "m" });
    await run(it.core, "listModels", {});
    await settled();
    await it.core.idle();
    expect(it.shadow.asked).toEqual([]);
  });
});

describe("which calls are mirrored", () => {
  it("all by default, none with a share of 0, about half with a half", async () => {
    for (const [share, least, most] of [
      [undefined, 200, 200],
      [1, 200, 200],
      [0, 0, 0],
      [0.5, 80, 120],
    ] as const) {
      const it = mirroring(says("x"), { mirror: { share } });
      for (let i = 0; i < 200; i++) {
        await run(it.core, "chat", { ...hello, model: "m" });
        await settled();
      }
      await it.core.idle();
      expect(it.shadow.asked.length).toBeGreaterThanOrEqual(least);
      expect(it.shadow.asked.length).toBeLessThanOrEqual(most);
    }
  });
  it("each mirror for itself", async () => {
    const other = scripted({ chat: says("y") }, [chatModel("t")], "other");
    const mirrors = [
      { backend: "shadow", model: "s" },
      { backend: "other", model: "t" },
    ];
    const it = mirroring(says("x"), { more: [other], model: { mirrors } });
    await run(it.core, "chat", { ...hello, model: "m" });
    await it.core.idle();
    expect(it.answered.map(({ record }) => record.model)).toEqual(["s", "t"]);
  });
  it("a wildcard's too: what it stands for stands in the mirror's name", async () => {
    const ids = ["gpt-4", "gpt-5"];
    const real = scripted(
      { chat: says("real") },
      ids.map((id) => chatModel(id)),
      "real",
    );
    const shadow = scripted(
      { chat: says("x") },
      [chatModel("vendor/4"), chatModel("vendor/6")],
      "shadow",
    );
    const model = { name: "gpt-*", mirrors: [{ backend: "shadow", model: "vendor/*" }] };
    const it = mirroring(shadow, { real, model });
    for (const id of ids) await run(it.core, "chat", { ...hello, model: id });
    await it.core.idle();
    expect(it.shadow.asked).toMatchObject([{ model: "vendor/4" }]);
    expect(it.passedOver).toMatchObject([
      { of: { model: "gpt-5" }, backend: "shadow", model: "vendor/5", why: "no_model" },
    ]);
  });
  it("not counted under any number of names, where callers can give a model these", async () => {
    const targets = [{ backend: "real", model: "m" }];
    const model = { name: "gpt-*", targets, mirrors: [{ backend: "shadow", model: "vendor/*" }] };
    const it = mirroring(says("x"), { model });
    for (const id of ["gpt-4", "gpt-5"]) await run(it.core, "chat", { ...hello, model: id });
    await it.core.idle();
    const passedOver = { backend: "shadow", model: "vendor/*", why: "no_model" };
    expect(it.passedOver).toMatchObject([passedOver, passedOver]);
    const told = { backend: "shadow", why: "no_model" };
    expect(it.said("not mirrored")).toMatchObject([
      { model: "gpt-4", mirror: "vendor/4", ...told },
      { model: "gpt-5", mirror: "vendor/5", ...told },
    ]);
  });
  it("not those that the mirror's model can't do", async () => {
    const both = { chat: says("x"), streamTextToImage: paints(1) };
    const drawing = scripted(both, [imageModel("s")], "shadow");
    const plain = scripted({ chat: says("x") }, [chatModel("s", { supports: [] })], "shadow");
    for (const [shadow, more, reason] of [
      [drawing, {}, undefined],
      [plain, { topK: 3 }, "top_k: this model does not support it"],
    ] as const) {
      const it = mirroring(shadow, { model: { unsupported: "reject" } });
      const answer = await outcome(it.core, "chat", { ...hello, model: "m", ...more });
      expect(answer.code).toBe("ok");
      await it.core.idle();
      expect(it.shadow.asked).toEqual([]);
      expect(reasons(it.passedOver)).toEqual(["unfit"]);
      const [{ id } = {}] = it.said("call");
      const line = { id, backend: "shadow", model: "s", reason };
      expect(it.said("unfit")).toMatchObject(reason === undefined ? [] : [line]);
    }
  });
  it("not at a target of the call itself", async () => {
    const it = mirroring(says("x"), { mirror: { backend: "real", model: "m" } });
    await run(it.core, "chat", { ...hello, model: "m" });
    await it.core.idle();
    expect(it.real.asked).toHaveLength(1);
    expect(reasons(it.passedOver)).toEqual(["unfit"]);
  });
});
