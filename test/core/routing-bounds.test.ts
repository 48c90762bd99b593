/** Bounds on what is in flight at a target. */
import { describe, expect, it } from "vitest";
import { settled } from "../support/clock.js";
import { run } from "../support/core.js";
import { backend, bench, gate, hello, stateOf, textOf } from "../support/routing.js";

describe("a bound on requests in flight", () => {
  it("spills over to the next priority, and makes calls wait when all are full", async () => {
    const [a, b] = [gate("a"), gate("b")];
    const all = [backend("a", a.handle), backend("b", b.handle)];
    const { core } = bench(all, { maxInFlight: 1 });
    const answers = [1, 2, 3].map(() => textOf(run(core, "chat", hello)));
    await settled();
    expect([a.begun, b.begun]).toEqual([1, 1]);
    expect(stateOf(core, "a")).toMatchObject({ inFlight: 1, maxInFlight: 1, waiting: 1 });
    b.open();
    await settled();
    expect([a.begun, b.begun]).toEqual([1, 2]);
    a.open();
    b.open();
    expect(await Promise.all(answers)).toEqual(["a", "b", "b"]);
    expect(stateOf(core, "a")).toMatchObject({ inFlight: 0, waiting: 0 });
  });
  it("holds for calls by another name of the model, too, and by one that a wildcard fits", async () => {
    for (const name of ["bounded", "bounded-*"]) {
      const door = gate("one");
      const target = { backend: "only", model: name === "bounded" ? "m" : "*" };
      const models = [
        { name, maxInFlight: 1, targets: [target] },
        { name: "free", targets: [{ backend: "only", model: "m" }] },
      ];
      const { core } = bench([backend("only", door.handle)], {}, models);
      const ask = () => textOf(run(core, "chat", { ...hello, model: "free" }));
      const answers = [ask(), ask()];
      await settled();
      expect(door.begun).toBe(1);
      door.open();
      await settled();
      door.open();
      expect(await Promise.all(answers)).toEqual(["one", "one"]);
    }
  });
  it("counts a target once that two patterns of an entry lead to", async () => {
    const door = gate("one");
    const targets = [
      { backend: "only", model: "*", priority: 1 },
      { backend: "only", model: "m" },
    ];
    const models = [{ name: "any-*", targets }];
    const { core } = bench([backend("only", door.handle)], { maxInFlight: 1 }, models);
    const ask = () => textOf(run(core, "chat", { ...hello, model: "any-m" }));
    const answers = [ask(), ask()];
    await settled();
    expect(stateOf(core, "only")).toMatchObject({ inFlight: 1, waiting: 1 });
    door.open();
    await settled();
    expect(stateOf(core, "only")).toMatchObject({ inFlight: 1, waiting: 0 });
    door.open();
    expect(await Promise.all(answers)).toEqual(["one", "one"]);
  });
  it.each([
    ["all targets", 1, 3, 3],
    ["the model", 3, 1, 3],
    ["the target", 3, 3, 1],
  ])("is the smallest where it is that of %s", async (_, all, model, target) => {
    const targets = [{ backend: "only", maxInFlight: target }];
    const models = [{ name: "m", maxInFlight: model, targets }];
    const { core } = bench([backend("only", gate().handle)], { maxInFlight: all }, models);
    const answers = [1, 2].map(() => run(core, "chat", hello).catch(() => {}));
    await settled();
    expect(stateOf(core, "only")).toMatchObject({ inFlight: 1, maxInFlight: 1, waiting: 1 });
    core.abort();
    await Promise.all(answers);
  });
});
