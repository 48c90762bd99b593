/** Quotas of requests: how often a vendor lets a model be asked in a minute. */
import { describe, expect, it } from "vitest";
import { reasonOf } from "../../src/core/log.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { run } from "../support/core.js";
import { chatModel } from "../support/models.js";
import {
  backend,
  bench,
  fails,
  failure,
  hello,
  inTurn,
  stateOf,
  textOf,
} from "../support/routing.js";
import { hangsAfter, says, scripted } from "../support/scripted.js";
import { ask, inOrder } from "./quotas.js";

describe("a quota of requests", () => {
  const quota = { requestsPerMinute: 2 };

  it("sends calls on to others until the minute is over, and takes nobody out", async () => {
    const all = [backend("a"), backend("b")];
    const { core, clock } = bench(all, {}, inOrder({ a: quota, b: {} }));
    expect([await ask(core), await ask(core), await ask(core)]).toEqual(["a", "a", "b"]);
    expect(stateOf(core, "a")).toMatchObject({
      ...{ state: "used_up", outForMs: 61_000, failures: 0 },
      quota: { requests: { used: 2, limit: 2 } },
    });
    expect(stateOf(core, "b")).not.toHaveProperty("quota");
    await clock.advance(60_999);
    expect(await ask(core)).toBe("b");
    await clock.advance(1);
    expect(stateOf(core, "a")).toMatchObject({ state: "in", outForMs: 0 });
    expect(await ask(core)).toBe("a");
  });

  it("lets a whole minute pass for each, whenever in a second it came", async () => {
    const { core, clock } = bench([backend("a")], {}, inOrder({ a: { requestsPerMinute: 1 } }));
    await clock.advance(999);
    await ask(core);
    await clock.advance(59_999);
    await expect(ask(core)).rejects.toEqual(failure("unavailable"));
    await clock.advance(2);
    expect(await ask(core)).toBe("a");
  });

  it("comes back as what was used passes, not all at once", async () => {
    const { core, clock } = bench([backend("a")], {}, inOrder({ a: quota }));
    await ask(core);
    await clock.advance(30_000);
    await ask(core);
    await expect(ask(core)).rejects.toEqual(failure("unavailable", { retryAfter: 31 }));
    await clock.advance(31_000);
    expect(await ask(core)).toBe("a");
    await expect(ask(core)).rejects.toEqual(failure("unavailable", { retryAfter: 30 }));
  });

  it("that is used up everywhere is said, with the time of the first that has room again", async () => {
    const all = [backend("a"), backend("b")];
    const { core, clock } = bench(all, {}, inOrder({ a: { requestsPerMinute: 1 }, b: quota }));
    await ask(core);
    await clock.advance(10_000);
    expect([await ask(core), await ask(core)]).toEqual(["b", "b"]);
    const error = await ask(core).catch((thrown: unknown) => thrown);
    expect(error).toEqual(
      failure("unavailable", {
        http: 503,
        retryAfter: 51,
        message: "as much was asked of this model's servers as they allow in a minute",
      }),
    );
    expect(reasonOf(error)).toContain("a has used up its quota; b has used up its quota");
    expect(all.map(({ asked }) => asked.length)).toEqual([1, 2]);
  });

  it("is not what is said where the other target is out", async () => {
    const all = [backend("a"), backend("b", fails("unavailable"))];
    const some = { health: { failures: 1 }, retry: { attempts: 1 } };
    const { core } = bench(all, some, inOrder({ a: { requestsPerMinute: 1 }, b: {} }));
    await ask(core);
    await expect(ask(core)).rejects.toEqual(failure("unavailable"));
    const error = await ask(core).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: "no model server can take the request now" });
    expect(reasonOf(error)).toContain("a has used up its quota; b is out");
  });

  it("counts every attempt, also of retries, and of those that fail", async () => {
    const failing = backend("a", inTurn(fails("unavailable"), says("a")));
    const { core, clock } = bench([failing], {}, inOrder({ a: quota }));
    const answer = ask(core);
    await clock.advance(2000);
    expect(await answer).toBe("a");
    expect(stateOf(core, "a")).toMatchObject({ state: "used_up", failures: 1 });
  });

  it("ends retries: what is used up meanwhile is not asked again", async () => {
    const failing = backend("a", fails("unavailable"));
    const { core, clock } = bench([failing], {}, inOrder({ a: { requestsPerMinute: 1 } }));
    const answer = ask(core);
    const said = expect(answer).rejects.toEqual(failure("unavailable"));
    await clock.advance(2000);
    await said;
    expect(failing.asked).toHaveLength(1);
  });

  it("counts hedges, and none goes where it is used up", async () => {
    for (const requestsPerMinute of [1, 2]) {
      const slow = inTurn(...Array(20).fill(says("a")), hangsAfter().handle);
      const all = [backend("a", slow), backend("b", says("b"))];
      const hedge = { percentile: 95, leastMs: 50 };
      const models = inOrder({ a: {}, b: { requestsPerMinute } });
      models.push({ name: "only-b", targets: [{ backend: "b", model: "m" }] });
      const { core, clock } = bench(all, { hedge }, models);
      await ask(core, { model: "only-b" });
      for (let i = 0; i < 20; i++) await ask(core, { model: "m" });
      const aborted = new AbortController();
      const answer = textOf(
        run(core, "chat", { ...hello, model: "m" }, { signal: aborted.signal }),
      ).catch(() => "nobody");
      await clock.advance(100);
      aborted.abort();
      expect(await answer).toBe(requestsPerMinute === 1 ? "nobody" : "b");
      expect(stateOf(core, "b").state).toBe("used_up");
    }
  });

  it("does not count what the target could not be asked for", async () => {
    const plain = scripted({ chat: says("a") }, [chatModel("m", { supports: [] })], "a");
    const { core } = bench([plain], {}, inOrder({ a: { requestsPerMinute: 1 } }));
    await expect(ask(core, { stop: ["x"] })).rejects.toEqual(failure("unsupported_parameter"));
    expect(await ask(core)).toBe("a");
  });

  it("is one for all names that lead there, also for those that say nothing of it, and the smallest", async () => {
    const models: ModelSettings[] = [
      { name: "x", targets: [{ backend: "a", model: "m", requestsPerMinute: 5 }] },
      { name: "y", targets: [{ backend: "a", model: "m", requestsPerMinute: 2 }] },
      { name: "z", targets: [{ backend: "a", model: "m" }] },
    ];
    const { core } = bench([backend("a")], {}, models);
    await ask(core, { model: "z" });
    await ask(core, { model: "x" });
    expect(stateOf(core, "a").quota).toEqual({ requests: { used: 2, limit: 2 } });
    for (const model of ["x", "y", "z"]) {
      await expect(ask(core, { model })).rejects.toEqual(failure("unavailable"));
    }
  });

  it("sends sessions elsewhere for the moment, and back again", async () => {
    const all = [backend("a"), backend("b")];
    const targets = all.map(({ name }) => ({ backend: name, requestsPerMinute: 1 }));
    const { core, clock } = bench(all, {}, [{ name: "m", targets }]);
    const session = { promptCacheKey: "one" };
    const home = await ask(core, session);
    const other = await ask(core, session);
    expect([home, other].sort()).toEqual(["a", "b"]);
    await clock.advance(61_000);
    expect(await ask(core, session)).toBe(home);
  });

  it("is no reason not to count tokens there, and counting them uses none of it", async () => {
    const counted = {
      $typeName: "lintel.v1.CountTokensResponse",
      ...{ tokens: 3, estimated: false, model: "", warnings: [] },
    } as never;
    const countTokens = async function* () {
      yield [counted];
    };
    const a = scripted({ chat: says("a"), countTokens } as never, [chatModel("m")], "a");
    const { core } = bench([a], {}, inOrder({ a: { requestsPerMinute: 1 } }));
    await run(core, "countTokens", hello);
    expect(await ask(core)).toBe("a");
    await expect(run(core, "countTokens", hello)).resolves.toMatchObject([{ estimated: false }]);
  });

  it("holds for one that is about to leave, too, though that is asked rather than nobody", async () => {
    const leaving = fails("shutting_down", { leaving: true, retryAfter: 30 });
    const a = backend("a", leaving);
    const { core } = bench([a], {}, inOrder({ a: quota }));
    for (let i = 0; i < 4; i++) await expect(ask(core)).rejects.toThrow();
    expect(a.asked).toHaveLength(2);
  });
});
