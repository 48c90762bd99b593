/** What every store of first answers has to do, seen through the real core. */

import { once } from "node:events";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Handlers } from "../../../src/core/backend.js";
import type { Call } from "../../../src/core/call.js";
import { nativeSignal } from "../../../src/core/cancellation.js";
import type { Core, CoreParts } from "../../../src/core/core.js";
import { LintelError } from "../../../src/core/errors.js";
import type { IdempotencyStore } from "../../../src/core/idempotency/store.js";
import { createToken, hashToken } from "../../../src/core/tokens.js";
import type { UsageRecord } from "../../../src/core/usage/record.js";
import type { IdempotencyOptions } from "../../../src/state/idempotency/answers.js";
import { memoryLimits } from "../../../src/state/limits/memory.js";
import { gate, outcome, start } from "../../support/calls.js";
import { settled } from "../../support/clock.js";
import { coreOf } from "../../support/core.js";
import { chatModel } from "../../support/models.js";
import { hangsAfter, paints, piece, says, scripted } from "../../support/scripted.js";

/** Replicas under test: the same store twice, or two that share theirs. */
export interface Subject {
  readonly stores: readonly [IdempotencyStore, IdempotencyStore];
  close(): Promise<void>;
}

const options: IdempotencyOptions = {
  ttlMs: 3_600_000,
  maxAnswerBytes: 1_000_000,
  maxBytes: 10_000_000,
};

const chat = { messages: [{ role: "user", content: "hello" }] };
const draw = { prompt: "a lintel", numImagesPerPrompt: 2, includeData: true };

let names = 0;
/** A key that no other test has. */
const newKey = () => `key-${names++}`;

/** A stream that goes on when the test says so. */
function gated(...pieces: string[]) {
  const gates = pieces.map(gate);
  return {
    open: (i: number) => gates[i]?.open(),
    async *handle({ signal }: Call<"chat">) {
      for (const [i, text] of pieces.entries()) {
        await Promise.race([gates[i]?.opened, once(nativeSignal(signal), "abort")]);
        signal.throwIfAborted();
        yield [piece(text)];
      }
      yield [piece("", "stop", [7, pieces.length])];
    },
  };
}

/** Runs the suite. */
export function idempotencyContract(
  name: string,
  open: (options: IdempotencyOptions) => Promise<Subject>,
): void {
  describe(name, () => {
    let subject: Subject;
    beforeAll(async () => {
      subject = await open(options);
    });
    afterAll(() => subject.close());

    /** Two replicas before one backend. */
    function replicas(handlers: Handlers, parts: Partial<CoreParts> = {}, lingerMs = 60_000) {
      const backend = scripted(handlers);
      const cores = subject.stores.map((store) =>
        coreOf([backend], {}, { idempotency: { store, lingerMs }, ...parts }),
      ) as [Core, Core];
      return { backend, cores };
    }

    it.each(["chat", "complete", "textToImage", "streamTextToImage"] as const)(
      "answers %s again with the first answer",
      async (method) => {
        const { backend, cores } = replicas({
          chat: says("a", "b"),
          streamTextToImage: paints(2),
        });
        const request = method === "chat" || method === "complete" ? chat : draw;
        const idempotencyKey = newKey();
        const first = await outcome(cores[0], method, request, { idempotencyKey });
        expect(first.code).toBe("ok");
        expect(first.metadata.has("idempotent-replayed")).toBe(false);
        for (const core of cores) {
          const again = await outcome(core, method, request, { idempotencyKey });
          expect(again.metadata.get("idempotent-replayed")).toBe("true");
          // Of a stream those are in the header that were known with the first message.
          if (first.messages.length === 1) expect(again.warnings).toEqual(first.warnings);
          expect(again.messages.length).toBe(first.messages.length);
          // Model has bigints, which vitest prints by way of JSON.
          expect(
            isDeepStrictEqual(structuredClone(again.messages), structuredClone(first.messages)),
          ).toBe(true);
        }
        expect(backend.asked).toHaveLength(1);
      },
    );

    it("runs what has another key, another caller or none", async () => {
      const { backend, cores } = replicas({ chat: says("a") });
      const idempotencyKey = newKey();
      await outcome(cores[0], "chat", chat, { idempotencyKey });
      await outcome(cores[1], "chat", chat, { idempotencyKey: newKey() });
      await outcome(cores[1], "chat", chat, { idempotencyKey, credential: "another" });
      await outcome(cores[1], "chat", chat);
      expect(backend.asked).toHaveLength(4);
    });

    it("refuses a key that was used for another request", async () => {
      const { backend, cores } = replicas({ chat: says("a") });
      const idempotencyKey = newKey();
      await outcome(cores[0], "chat", chat, { idempotencyKey });
      const other = { ...chat, temperature: 0.1 };
      for (const [method, request] of [
        ["chat", other],
        ["complete", chat],
      ] as const) {
        const { error } = await outcome(cores[1], method, request, { idempotencyKey });
        expect(error).toMatchObject({
          code: "invalid_value",
          param: "idempotency-key",
          message: "idempotency-key: was used for another request; a new request needs a new key",
        });
      }
      expect(backend.asked).toHaveLength(1);
    });

    it("refuses a key of an answer without addresses for one that is to have them", async () => {
      const { backend, cores } = replicas({ streamTextToImage: paints(1) });
      const idempotencyKey = newKey();
      const ask = async (baseUrl: string | null) =>
        (await outcome(cores[0], "textToImage", draw, { idempotencyKey, baseUrl })).code;
      expect([await ask(null), await ask("http://a"), await ask(null)]).toEqual([
        "ok",
        "invalid_value",
        "ok",
      ]);
      expect(backend.asked).toHaveLength(1);
    });

    it("refuses who may not use the model any more, whatever it was called", async () => {
      const backend = scripted({ chat: says("a") }, [chatModel("m-1")]);
      const token = createToken();
      const [first, again] = subject.stores.map((store) => (...models: string[]) => {
        const tokens = [{ name: "t", hash: hashToken(token), models }];
        const entries = [{ name: "m-1", aliases: ["mine-*"] }];
        const settings = {
          auth: { mode: "token", tokens } as const,
          models: entries,
          defaultModels: { chat: "mine-0" },
        };
        return coreOf([backend], settings, { idempotency: { store, lingerMs: 60_000 } });
      });
      for (const [model = "", name = ""] of [
        ["", "m-1"],
        ["", "mine-0"],
        ["m-1", "m-1"],
        ["mine-1", "mine-1"],
      ]) {
        const origin = { idempotencyKey: newKey(), credential: token };
        const ask = async (core: Core | undefined) =>
          core && (await outcome(core, "chat", { ...chat, model }, origin)).code;
        expect(await ask(first?.("m-*", "mine-*"))).toBe("ok");
        expect(await ask(again?.("other"))).toBe("model_not_allowed");
        expect(await ask(again?.(name))).toBe("ok");
      }
      expect(backend.asked).toHaveLength(4);
    });

    it("takes a side at its default for one that is set where the other is", async () => {
      const { backend, cores } = replicas({ streamTextToImage: paints(2) });
      const idempotencyKey = newKey();
      await outcome(cores[0], "textToImage", { ...draw, height: 64 }, { idempotencyKey });
      const other = { ...draw, width: 1024, height: 64 };
      const { error } = await outcome(cores[1], "textToImage", other, { idempotencyKey });
      expect(error).toMatchObject({ code: "invalid_value", param: "idempotency-key" });
      expect(backend.asked).toHaveLength(1);
    });

    it("takes a field that equals its default for one that is not set", async () => {
      const { backend, cores } = replicas({ chat: says("a"), streamTextToImage: paints(2) });
      const sameChats = [
        { temperature: 0.7, maxTokens: 256, topP: 1, topK: -1, seed: -1n, model: "", stop: [] },
        { topK: 0 },
        { frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, minP: 0 },
        { logprobs: false, topLogprobs: 0, verbosity: "", serviceTier: "", logitBias: {} },
      ];
      const samePictures = [
        { height: 576, width: 1024, guidanceScale: 7.5, safetyCheck: true, seed: -1n },
        { numInferenceSteps: 50, includePreviews: false },
      ];
      const table = [
        ["chat", chat, sameChats],
        ["textToImage", draw, samePictures],
      ] as const;
      for (const [method, request, same] of table) {
        const idempotencyKey = newKey();
        await outcome(cores[0], method, request, { idempotencyKey });
        for (const more of same) {
          const again = await outcome(
            cores[1],
            method,
            { ...request, ...more },
            { idempotencyKey },
          );
          expect(again.metadata.get("idempotent-replayed")).toBe("true");
        }
      }
      expect(backend.asked).toHaveLength(2);
      const idempotencyKey = newKey();
      await outcome(cores[0], "chat", chat, { idempotencyKey });
      for (const more of [{ temperature: 0 }, { topK: 1 }, { seed: 0n }, { minP: 0.1 }]) {
        const other = await outcome(cores[1], "chat", { ...chat, ...more }, { idempotencyKey });
        expect(other.code).toBe("invalid_value");
      }
    });

    it("waits for a first answer that still runs, and follows it", async () => {
      const { open, handle } = gated("a", "b", "c");
      const { backend, cores } = replicas({ chat: handle });
      const idempotencyKey = newKey();
      const first = outcome(cores[0], "chat", chat, { idempotencyKey });
      await vi.waitFor(() => expect(backend.asked).toHaveLength(1));
      const early = start(cores[1], "chat", chat, { idempotencyKey });
      const iterator = early.messages[Symbol.asyncIterator]();
      const said = async () =>
        (await iterator.next()).value
          ?.map((m: LLMResponse) => m.choices[0]?.delta?.content)
          .join("");
      const waiting = said();
      open(0);
      expect(await waiting).toBe("a");
      open(1);
      expect(await said()).toBe("b");
      // One that comes in the middle hears it from the beginning.
      const late = outcome(cores[1], "chat", chat, { idempotencyKey });
      open(2);
      expect(await said()).toBe("c");
      const [a, b] = await Promise.all([first, late]);
      expect(b.messages.map((m) => m.choices[0]?.delta?.content)).toEqual(["a", "b", "c", ""]);
      expect(b.messages[0]?.id).toBe(a.messages[0]?.id);
      expect(backend.asked).toHaveLength(1);
    });

    it("lets one of many at once run", async () => {
      const { backend, cores } = replicas({ chat: says("a") });
      const idempotencyKey = newKey();
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          outcome(cores[i % 2] as Core, "complete", chat, { idempotencyKey }),
        ),
      );
      expect(new Set(all.map(({ messages }) => messages[0]?.id)).size).toBe(1);
      expect(backend.asked).toHaveLength(1);
    });

    it("does not remember a failure before the answer; who waits takes its turn", async () => {
      const failing = gate();
      let asked = 0;
      const { cores } = replicas({
        async *chat(call) {
          if (asked++ > 0) return yield* says("a")(call);
          await failing.opened;
          throw new LintelError("invalid_value", "not now");
        },
      });
      const idempotencyKey = newKey();
      const first = outcome(cores[0], "chat", chat, { idempotencyKey });
      await vi.waitFor(() => expect(asked).toBe(1));
      const second = outcome(cores[1], "chat", chat, { idempotencyKey });
      failing.open();
      expect((await first).error?.message).toBe("not now");
      expect((await second).code).toBe("ok");
      expect((await outcome(cores[0], "chat", chat, { idempotencyKey })).code).toBe("ok");
      expect(asked).toBe(2);
    });

    it("tells who follows of a failure on the way, and lets the next one run", async () => {
      const { open, handle } = gated("a", "b");
      let asked = 0;
      const { cores } = replicas({
        async *chat(call) {
          if (asked++ > 0) return yield* says("whole")(call);
          for await (const batch of handle(call)) {
            yield batch;
            if (batch[0]?.choices[0]?.delta?.content === "b") {
              throw new LintelError("upstream_failed", "gone");
            }
          }
        },
      });
      const idempotencyKey = newKey();
      const first = outcome(cores[0], "chat", chat, { idempotencyKey });
      await vi.waitFor(() => expect(asked).toBe(1));
      const follower = start(cores[1], "chat", chat, { idempotencyKey });
      const iterator = follower.messages[Symbol.asyncIterator]();
      const next = iterator.next();
      open(0);
      await next;
      open(1);
      expect((await first).error?.message).toBe("gone");
      const rest = async () => {
        while (!(await iterator.next()).done);
      };
      await expect(rest).rejects.toMatchObject({ code: "upstream_failed" });
      const again = await outcome(cores[1], "chat", chat, { idempotencyKey });
      expect(again.messages[0]?.choices[0]?.delta?.content).toBe("whole");
    });

    it("goes on for a caller who left and comes again; counts and records it once", async () => {
      const records: UsageRecord[] = [];
      const limits = memoryLimits();
      const { open, handle } = gated("a", "b", "c");
      const { backend, cores } = replicas(
        { chat: handle },
        {
          usage: {
            sink: { keep: async (record) => void records.push(record) },
            prices: [],
          },
          limits: {
            settings: { models: [], caller: { requestsPerMinute: 10, concurrent: 1 } },
            prices: [],
            store: limits,
          },
        },
      );
      const idempotencyKey = newKey();
      const leaving = new AbortController();
      const first = start(cores[0], "chat", chat, { idempotencyKey, signal: leaving.signal });
      const iterator = first.messages[Symbol.asyncIterator]();
      const next = iterator.next();
      open(0);
      await next;
      const cut = iterator.next();
      leaving.abort();
      await expect(cut).rejects.toMatchObject({ code: "cancelled" });
      const again = outcome(cores[1], "chat", chat, { idempotencyKey });
      open(1);
      open(2);
      const { messages, code } = await again;
      expect(code).toBe("ok");
      expect(messages.map((m) => m.choices[0]?.delta?.content)).toEqual(["a", "b", "c", ""]);
      expect(backend.asked).toHaveLength(1);
      await vi.waitFor(() => expect(records).toHaveLength(1));
      expect(records[0]).toMatchObject({ outcome: "ok", promptTokens: 7, completionTokens: 3 });
      const { metadata } = await outcome(cores[1], "chat", chat, { idempotencyKey: newKey() });
      expect(metadata.get("x-ratelimit-remaining-requests")).toBe("8");
    });

    it("ends the work when nobody comes again", async () => {
      const { handle, aborted } = hangsAfter("a");
      const { cores } = replicas({ chat: handle }, {}, 5);
      const leaving = new AbortController();
      const idempotencyKey = newKey();
      const first = start(cores[0], "chat", chat, { idempotencyKey, signal: leaving.signal });
      const iterator = first.messages[Symbol.asyncIterator]();
      await iterator.next();
      leaving.abort();
      await expect(iterator.next()).rejects.toMatchObject({ code: "cancelled" });
      await aborted;
      // And as if it had never been: the next one runs.
      const { open, handle: good } = gated("b");
      open(0);
      const { cores: later } = replicas({ chat: good });
      await vi.waitFor(async () => {
        expect((await outcome(later[1], "chat", chat, { idempotencyKey })).code).toBe("ok");
      });
    });

    it("ends the work without a caller when the gateway shuts down", async () => {
      const { handle, aborted } = hangsAfter("a");
      const { cores } = replicas({ chat: handle });
      const leaving = new AbortController();
      const first = start(cores[0], "chat", chat, {
        idempotencyKey: newKey(),
        signal: leaving.signal,
      });
      const iterator = first.messages[Symbol.asyncIterator]();
      await iterator.next();
      leaving.abort();
      await expect(iterator.next()).rejects.toMatchObject({ code: "cancelled" });
      await cores[0].drain();
      await aborted;
    });

    it("lets a call whose caller is there end in its time while the gateway shuts down", async () => {
      const { open, handle } = gated("a", "b");
      const { backend, cores } = replicas({ chat: handle });
      const call = outcome(cores[0], "chat", chat, { idempotencyKey: newKey() });
      await vi.waitFor(() => expect(backend.asked).toHaveLength(1));
      open(0);
      const drained = cores[0].drain();
      await settled();
      open(1);
      const { code, messages } = await call;
      expect(code).toBe("ok");
      expect(messages.map((m) => m.choices[0]?.delta?.content)).toEqual(["a", "b", ""]);
      await drained;
    });

    it("obeys the call's deadline", async () => {
      const { handle, aborted } = hangsAfter();
      const { cores } = replicas({ chat: handle });
      const { code } = await outcome(cores[0], "chat", chat, {
        idempotencyKey: newKey(),
        // Long enough to get to the backend also where everything is slow: else nothing is aborted.
        timeoutMs: 1000,
      });
      expect(code).toBe("timeout");
      await aborted;
    });

    it("gives the first caller an answer that is too large to be kept, and the next ones a reason", async () => {
      const small = await open({ ...options, maxAnswerBytes: 2000 });
      const backend = scripted({ chat: says(...Array<string>(50).fill("x".repeat(100))) });
      const cores = small.stores.map((store) =>
        coreOf([backend], {}, { idempotency: { store, lingerMs: 1000 } }),
      ) as [Core, Core];
      const idempotencyKey = newKey();
      const first = await outcome(cores[0], "chat", chat, { idempotencyKey });
      expect(first.messages).toHaveLength(51);
      await vi.waitFor(async () => {
        const { error } = await outcome(cores[1], "chat", chat, { idempotencyKey });
        expect(error).toMatchObject({ code: "invalid_value", param: "idempotency-key" });
        expect(error?.message).toContain("too large to be kept");
      });
      expect(backend.asked).toHaveLength(1);
      await small.close();
    });

    it.each(["", "two, keys", "ü", "x".repeat(256), "line\nbreak"])(
      "refuses %j as a key",
      async (idempotencyKey) => {
        const { backend, cores } = replicas({ chat: says("a") });
        const { error } = await outcome(cores[0], "chat", chat, { idempotencyKey });
        expect(error).toMatchObject({
          code: "invalid_value",
          param: "idempotency-key",
          message: "idempotency-key: must be 1 to 255 visible ASCII characters, and come once",
        });
        expect(backend.asked).toHaveLength(0);
      },
    );
  });
}
