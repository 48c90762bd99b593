/** How tokens of prompts are counted: by whom, and what is said where nobody does. */
import { describe, expect, it } from "vitest";
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import { State } from "../../gen/lintel/v1/models_pb.js";
import type { Handle } from "../../src/core/call.js";
import { tokenCount } from "../../src/core/chat-messages.js";
import type { ErrorCode } from "../../src/core/error-table.js";
import { invalidValue, LintelError } from "../../src/core/errors.js";
import type { UsageRecord } from "../../src/core/usage/record.js";
import { MemoryIdempotency } from "../../src/state/idempotency/memory.js";
import { gate, outcome, start } from "../support/calls.js";
import { FakeClock, settled } from "../support/clock.js";
import { coreOf } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { backend, bench, fails, failure, hello, stateOf } from "../support/routing.js";
import { says, scripted } from "../support/scripted.js";

type Count = Handle<"countTokens">;

const counts = (tokens: number): Count =>
  async function* () {
    yield [tokenCount(tokens)];
  };

const refuses = (error: Error): Count =>
  // biome-ignore lint/correctness/useYield: it fails before it has anything to yield
  async function* () {
    throw error;
  };

const counting = (name: string, countTokens: Count, model: Partial<Model> = {}) =>
  scripted({ chat: says(name), countTokens }, [chatModel("m", model)], name);

const count = (core: Parameters<typeof outcome>[0], request: object = hello) =>
  outcome(core, "countTokens", { model: "m", ...request });

/** By length: 5 letters, and 4 tokens around each message. */
const estimate = { model: "m", promptTokens: 6, estimated: true };

describe("the tokens of a prompt", () => {
  it("are what its model counts, which is asked for no answer", async () => {
    const one = counting("a", counts(17));
    const { core } = bench([one]);
    const { messages } = await count(core);
    expect(messages).toMatchObject([{ model: "m", promptTokens: 17, estimated: false }]);
    expect(messages).toHaveLength(1);
    expect(one.asked).toMatchObject([{ model: "m", messages: [{ content: "Hello" }] }]);
  });

  it("are estimated where no model counts", async () => {
    const { core } = bench([backend("a")]);
    expect((await count(core)).messages).toMatchObject([estimate]);
  });

  it("are counted by the first target that does", async () => {
    const all = [
      backend("none"),
      counting("broken", refuses(new LintelError("upstream_failed", "no"))),
      counting("works", counts(5)),
      counting("last", counts(6)),
    ];
    const { core } = bench(all);
    expect((await count(core)).messages).toMatchObject([{ promptTokens: 5 }]);
    expect(all.map(({ asked }) => asked.length)).toEqual([0, 1, 1, 0]);
  });

  it.each([State.LOADING, State.IDLE])("are asked of a model in state %i", async (state) => {
    const { core } = bench([counting("a", counts(5), { state })]);
    expect((await count(core)).messages).toMatchObject([{ promptTokens: 5 }]);
  });

  it("wait for no model that is being loaded: who has it decides whether it can count by then", async () => {
    const model = chatModel("m", { state: State.LOADING });
    const countTokens = refuses(new LintelError("unimplemented", "not in memory"));
    const ready = () => new Promise<void>(() => {});
    const one = scripted({ chat: says("a"), countTokens }, [model], "a", { ready });
    const { core } = bench([one]);
    expect((await count(core)).messages).toMatchObject([estimate]);
    expect(one.asked).toHaveLength(1);
  });

  it("are asked of none that failed to load, or asked to be left alone", async () => {
    const failed = counting("a", counts(5), { state: State.FAILED });
    expect((await count(bench([failed]).core)).messages).toMatchObject([estimate]);
    const chat = fails("rate_limited", { retryAfter: 60 });
    const countTokens = counts(5);
    const resting = scripted({ chat, countTokens }, [chatModel("m")], "a");
    const { core } = bench([resting]);
    expect((await outcome(core, "complete", { ...hello, model: "m" })).code).toBe("rate_limited");
    expect((await count(core)).messages).toMatchObject([estimate]);
    expect(resting.asked).toHaveLength(1);
  });

  it("are counted where tools would be told of, too", async () => {
    const all = [
      counting("none", counts(1), { supports: [] }),
      counting("tools", counts(2), { supports: ["tools", "tool_choice"] }),
    ];
    const { core } = bench(all);
    const tool = { type: "function", function: { name: "weather", parameters: "{}" } };
    const { messages } = await count(core, { ...hello, tools: [tool] });
    expect(messages).toMatchObject([{ promptTokens: 2, warnings: [] }]);
  });

  it.each<ErrorCode>([
    "unimplemented",
    "upstream_failed",
    "upstream_unreachable",
    "unavailable",
    "rate_limited",
    "model_not_found",
    "model_not_loaded",
    "overloaded",
    "timeout",
  ])(
    "are estimated where a model server says %s, which says nothing of its health",
    async (code) => {
      const { core } = bench([counting("a", refuses(new LintelError(code, "no")))]);
      expect((await count(core)).messages).toMatchObject([estimate]);
      expect(stateOf(core, "a")).toMatchObject({ failures: 0, attempts: 0, inFlight: 0 });
    },
  );

  it.each([
    ["refuses the request", invalidValue("messages", "the template refuses them"), "invalid_value"],
    ["is at fault itself", new Error("a bug"), "internal"],
  ])("fail where the one who counts %s", async (_, error, code) => {
    const { core } = bench([counting("a", refuses(error))]);
    expect((await count(core)).code).toBe(code);
  });

  it("are estimated after ten seconds, and the model server hears of that", async () => {
    let told: unknown;
    const other = counting("b", counts(5));
    const { core, clock } = bench([
      counting("a", async function* ({ signal }) {
        yield* [];
        await new Promise<void>((_, reject) =>
          signal.addEventListener("abort", () => {
            told = signal.reason;
            reject(signal.reason);
          }),
        );
      }),
      other,
    ]);
    const counted = count(core);
    await clock.advance(9_999);
    expect(told).toBeUndefined();
    await clock.advance(1);
    expect((await counted).messages).toMatchObject([estimate]);
    expect(told).toEqual(failure("timeout"));
    expect(other.asked).toEqual([]);
    expect(clock.timers).toBe(0);
  });

  it("are asked for no longer once the caller left", async () => {
    const caller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    let begun = () => {};
    const reached = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const other = counting("b", counts(5));
    const { core, clock } = bench([
      counting("a", async function* ({ signal }) {
        yield* [];
        begun();
        await new Promise<void>((_, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason)),
        );
      }),
      other,
    ]);
    const counted = outcome(
      core,
      "countTokens",
      { ...hello, model: "m" },
      { signal: caller.signal },
    );
    await reached;
    caller.abort(reason);
    expect((await counted).code).toBe("cancelled");
    await settled();
    expect(clock.timers).toBe(0);
    expect(core.readiness.running).toBe(0);
    expect(other.asked).toEqual([]);
  });

  it("are asked for of nobody once the caller left, also where it is found out late who that is", async () => {
    const caller = new AbortController();
    const known = gate();
    const callers = [{ find: () => known.opened.then(() => ({ id: "me" })) }];
    const one = counting("a", counts(5));
    const auth = { mode: "token", tokens: [] } as const;
    const core = coreOf([one], { auth }, { clock: new FakeClock(), callers });
    const asked = { ...hello, model: "m" };
    const counted = outcome(core, "countTokens", asked, { signal: caller.signal });
    await settled();
    caller.abort();
    expect((await counted).code).toBe("cancelled");
    known.open();
    await settled();
    expect(one.asked).toEqual([]);
  });

  it("are counted though all places at the model are taken", async () => {
    const all = [counting("a", counts(3))];
    const { core } = bench(all, { maxInFlight: 1 });
    const answer = start(core, "chat", { ...hello, model: "m" }).messages[Symbol.asyncIterator]();
    await answer.next();
    expect(stateOf(core, "a").inFlight).toBe(1);
    expect((await count(core)).messages).toMatchObject([{ promptTokens: 3 }]);
    await answer.return?.();
  });

  it("are those of the request as the model would get it, with the same warnings", async () => {
    const one = counting("a", counts(3), { supports: ["temperature"] });
    const { core } = bench([one]);
    const { messages } = await count(core, { ...hello, topK: 7 });
    expect(messages[0]?.warnings).toEqual(["top_k: not supported by this model, ignored"]);
    expect(one.asked).toMatchObject([{ topK: -1 }]);
  });

  it("tell the warnings of the model server", async () => {
    const warned: Count = async function* () {
      yield [{ ...tokenCount(3, true), warnings: ["said there"] }];
    };
    const { core } = bench([counting("a", warned)]);
    const { messages } = await count(core);
    expect(messages).toMatchObject([{ estimated: true, warnings: ["said there"] }]);
  });

  it.each([
    ["wrong fields", { ...hello, temperature: 3 }, "invalid_fields"],
    ["what no model takes", { messages: [shows()] }, "unsupported_parameter"],
    ["no such model", { ...hello, model: "x" }, "model_not_found"],
  ])("are refused for %s as an answer is", async (_, request, code) => {
    const one = counting("a", counts(3), { supports: [] });
    const { core } = bench([one]);
    expect((await count(core, request)).code).toBe(code);
    expect((await outcome(core, "complete", { model: "m", ...request })).code).toBe(code);
    expect(one.asked).toEqual([]);
  });

  it("are counted anew for who asks again with the same Idempotency-Key", async () => {
    const one = counting("a", counts(17));
    const store = new MemoryIdempotency({ ttlMs: 1000, maxAnswerBytes: 1000, maxBytes: 1000 });
    const { core } = bench([one], {}, [], { idempotency: { store, lingerMs: 1000 } });
    for (let i = 0; i < 2; i++) {
      const asked = { ...hello, model: "m" };
      const { metadata } = await outcome(core, "countTokens", asked, { idempotencyKey: "k" });
      expect(metadata.has("idempotent-replayed")).toBe(false);
    }
    expect(one.asked).toHaveLength(2);
  });

  it("count as a request, and cost nothing", async () => {
    const records: UsageRecord[] = [];
    const sink = { keep: async (record: UsageRecord) => void records.push(record) };
    const usage = { sink: sink as never, prices: [{ model: "*", promptPerMillion: 1e6 }] as never };
    const { core } = bench([counting("a", counts(17))], {}, [], { usage });
    await count(core);
    expect(records).toMatchObject([
      { method: "countTokens", backend: "a", promptTokens: 0, completionTokens: 0, outcome: "ok" },
    ]);
  });
});

function shows() {
  const url = { url: "https://example.com/a.png", detail: "" };
  return { role: "user", parts: [{ type: "image_url", imageUrl: url }] };
}
