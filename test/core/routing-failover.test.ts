/** What happens when a target fails before the first message, and another can be asked. */
import { describe, expect, it } from "vitest";
import { type ErrorCode, errorTable } from "../../src/core/error-table.js";
import { type ErrorOptions, LintelError } from "../../src/core/errors.js";
import { progressEvent } from "../../src/core/image-events.js";
import { routingDefaults } from "../../src/core/routing/settings.js";
import { settled } from "../support/clock.js";
import { run } from "../support/core.js";
import { chatModel, imageModel } from "../support/models.js";
import {
  backend,
  bench,
  equals,
  fails,
  failure,
  gate,
  hello,
  inTurn,
  stateOf,
  textOf,
} from "../support/routing.js";
import { breaksAfter, paints, piece, says, scripted } from "../support/scripted.js";

describe("failover", () => {
  const repeated: ErrorCode[] = [
    "upstream_unreachable",
    "rate_limited",
    "unavailable",
    "shutting_down",
    "timeout",
    "model_not_loaded",
    "overloaded",
    "unimplemented",
    "unsupported_parameter",
    "model_not_found",
  ];
  it.each(Object.keys(errorTable) as ErrorCode[])("%s", async (code) => {
    const [bad, good] = [backend("bad", fails(code)), backend("good")];
    const { core } = bench([bad, good]);
    const answer = textOf(run(core, "chat", hello));
    if (repeated.includes(code)) expect(await answer).toBe("good");
    else await expect(answer).rejects.toEqual(failure(code));
    expect(bad.asked.length).toBe(1);
  });
  it("a conversation that is too long for one goes to another, and says nothing of the first's health", async () => {
    const tooLong = new LintelError("invalid_value", "messages: long (context_length_exceeded)");
    const small = backend("small", breaksAfter(tooLong));
    const { core } = bench([small, backend("large")]);
    expect(await textOf(run(core, "chat", hello))).toBe("large");
    expect(stateOf(core, "small")).toMatchObject({ state: "in", failures: 0 });
    const alone = bench([small]).core;
    await expect(run(alone, "chat", hello)).rejects.toBe(tooLong);
    expect(small.asked).toHaveLength(2);
  });
  it("goes by what the failure says where it says so", async () => {
    const at = (retry: ErrorOptions["retry"]) =>
      textOf(
        run(
          bench([backend("bad", fails("upstream_failed", { retry })), backend("good")]).core,
          "chat",
          hello,
        ),
      );
    expect(await at("anywhere")).toBe("good");
    expect(await at("elsewhere")).toBe("good");
    expect(await at("doubtful")).toBe("good");
    await expect(at("never")).rejects.toEqual(failure("upstream_failed"));
  });
  it.each(["unavailable", "overloaded"] as const)(
    "asks each in turn, none again before all were: %s",
    async (code) => {
      const all = [backend("a", fails(code)), backend("b", fails(code)), backend("c")];
      const { core } = bench(all);
      expect(await textOf(run(core, "chat", hello))).toBe("c");
      expect(all.map(({ asked }) => asked.length)).toEqual([1, 1, 1]);
    },
  );
  it("asks one again that has room, where those that were not asked have none", async () => {
    const door = gate();
    const all = [backend("a", inTurn(fails("unavailable"), says("a"))), backend("b", door.handle)];
    const models = [
      { name: "m", backends: ["a", "b"] },
      { name: "only-b", model: "m", backends: ["b"] },
    ];
    const { core, clock } = bench(all, { maxInFlight: 1 }, models);
    const busy = run(core, "chat", { ...hello, model: "only-b" });
    await settled();
    const answer = textOf(run(core, "chat", { ...hello, model: "m" }));
    await clock.advance(routingDefaults.retry.firstPauseMs);
    expect(stateOf(core, "b").waiting).toBe(0);
    expect(await answer).toBe("a");
    door.open();
    await busy;
  });
  it("is as good for whole answers and for images", async () => {
    const bad = breaksAfter(new LintelError("unavailable", "away"));
    const models = [chatModel("c"), imageModel("i")];
    const away = scripted({ chat: bad, streamTextToImage: bad as never }, models, "bad");
    const good = scripted({ chat: says("good"), streamTextToImage: paints() }, models, "good");
    const { core } = bench([away, good]);
    const [answer] = await run(core, "complete", { ...hello, model: "c" });
    expect(answer?.choices[0]?.message?.content).toBe("good");
    const [pictures] = await run(core, "textToImage", { prompt: "a|b", modelId: "i" });
    expect(pictures?.images.length).toBe(2);
  });
  it("never follows a first message, in no form", async () => {
    for (const method of ["chat", "streamTextToImage"] as const) {
      const broken = async function* () {
        const begun = progressEvent({ index: 0, images: 1, step: 1, steps: 2 });
        yield method === "chat" ? [piece("half")] : [begun];
        throw new LintelError("unavailable", "gone");
      };
      const models = [method === "chat" ? chatModel("m") : imageModel("m")];
      const bad = scripted({ [method]: broken } as object, models, "bad");
      const good = scripted({ chat: says("x"), streamTextToImage: paints() }, models, "good");
      const { core } = bench([bad, good]);
      const request = method === "chat" ? hello : { prompt: "a" };
      await expect(run(core, method, request)).rejects.toEqual(failure("unavailable"));
      expect(good.asked.length).toBe(0);
    }
  });
  it("passes over a target that can't do what is asked, without counting it", async () => {
    const plain = scripted({ chat: says("plain") }, [chatModel("m", { supports: [] })], "plain");
    const able = backend("able");
    const { core } = bench([plain, able], { retry: { budget: 0, floor: 0 } });
    expect(await textOf(run(core, "chat", { ...hello, stop: ["x"] }))).toBe("able");
    expect(plain.asked.length).toBe(0);
    expect(stateOf(core, "plain")).toMatchObject({ inFlight: 0, attempts: 0 });
    able.asked.length = 0;
    const only = bench([plain]);
    await expect(run(only.core, "chat", { ...hello, stop: ["x"] })).rejects.toEqual(
      failure("unsupported_parameter"),
    );
    expect(stateOf(only.core, "plain")).toMatchObject({ inFlight: 0, attempts: 0 });
  });
  it("says what became of a target that could, not why another one can't", async () => {
    const plain = scripted({ chat: says("plain") }, [chatModel("m", { supports: [] })], "plain");
    const busy = backend("busy", fails("rate_limited", { retryAfter: 30 }));
    const broken = backend("broken", fails("upstream_failed", { retry: "elsewhere" }));
    const asked = { ...hello, stop: ["x"] };
    const resting = bench([plain, busy]).core;
    await expect(run(resting, "chat", asked)).rejects.toEqual(
      failure("rate_limited", { retryAfter: 30 }),
    );
    await expect(run(resting, "chat", asked)).rejects.toEqual(
      failure("unavailable", { retryAfter: 30 }),
    );
    await expect(run(bench([plain, broken]).core, "chat", asked)).rejects.toEqual(
      failure("upstream_failed"),
    );
  });
  it("passes over a target whose cap is too low, and says so where all are", async () => {
    const small = scripted({ chat: says("small") }, [chatModel("m", { maxTokens: 2048 })], "small");
    const large = scripted({ chat: says("large") }, [chatModel("m", { maxTokens: 8192 })], "large");
    const both = [small, large];
    const { core } = bench(both, {}, equals(both));
    // Whichever chance picks first.
    for (let i = 0; i < 10; i++) {
      expect(await textOf(run(core, "chat", { ...hello, maxTokens: 4096 }))).toBe("large");
    }
    expect(small.asked).toEqual([]);
    await expect(run(core, "chat", { ...hello, maxTokens: 10_000 })).rejects.toEqual(
      failure("invalid_fields", { http: 422, param: "max_tokens" }),
    );
    const capped = bench(both, {}, equals(both, { maxTokens: 1024 }));
    await expect(run(capped.core, "chat", { ...hello, maxTokens: 4096 })).rejects.toEqual(
      failure("invalid_fields", { message: "max_tokens: must be from 1 to 1024 for this model" }),
    );
  });
  it("takes no warning along from a target that failed", async () => {
    const poor = scripted(
      { chat: fails("unavailable") },
      [chatModel("m", { supports: [] })],
      "poor",
    );
    const { core } = bench([poor, backend("rich")]);
    const [answer] = await run(core, "complete", { ...hello, temperature: 1.5 });
    expect(answer?.warnings).toEqual([]);
  });
});
