/** A target that is at its limit, and does not say until when. */
import { describe, expect, it } from "vitest";
import type { Core } from "../../src/core/core.js";
import { LintelError } from "../../src/core/errors.js";
import { run } from "../support/core.js";
import {
  backend,
  bench,
  failure,
  gate,
  hello,
  inTurn,
  stateOf,
  textOf,
} from "../support/routing.js";
import { breaksAfter, says } from "../support/scripted.js";

const limits = () =>
  breaksAfter(new LintelError("rate_limited", "the model server is at its limit"));
const few = {
  retry: { budget: 0, floor: 8 },
  health: { failures: 3, firstPauseMs: 1000, longestPauseMs: 4000 },
};
const inOrder = [{ name: "m", targets: [{ backend: "a" }, { backend: "b", priority: 1 }] }];

/** What calls say, one after the other. */
async function said(core: Core, times: number): Promise<string[]> {
  const all: string[] = [];
  while (all.length < times) all.push(await textOf(run(core, "chat", hello)));
  return all;
}

describe("a target that keeps refusing without a time to wait", () => {
  it("comes after the others for a while, so that no retry is spent on each call", async () => {
    const a = backend("a", inTurn(...Array(6).fill(limits()), says("a")));
    const { core, clock } = bench([a, backend("b")], few, inOrder);
    expect(await said(core, 100)).toEqual(Array(100).fill("b"));
    expect(a.asked).toHaveLength(3);
    expect(stateOf(core, "a")).toMatchObject({ state: "resting", outForMs: 1000, failures: 0 });
    // For twice as long each time that it still refuses.
    const pauses = [
      [1000, 4],
      [2000, 5],
      [4000, 6],
    ] as const;
    for (const [pauseMs, asked] of pauses) {
      await clock.advance(pauseMs);
      expect(await said(core, 5)).toEqual(Array(5).fill("b"));
      expect(a.asked).toHaveLength(asked);
    }
    expect(stateOf(core, "a")).toMatchObject({ state: "resting", outForMs: 4000 });
    await clock.advance(4000);
    expect(await said(core, 3)).toEqual(["a", "a", "a"]);
    expect(stateOf(core, "a")).toMatchObject({ state: "in", outForMs: 0 });
  });

  it("is asked all the same where nobody else takes the call", async () => {
    const a = backend("a", inTurn(...Array(4).fill(limits()), says("a")));
    const { core } = bench([a], { ...few, retry: { attempts: 1 } });
    for (let i = 0; i < 4; i++)
      await expect(said(core, 1)).rejects.toEqual(failure("rate_limited"));
    expect(await said(core, 2)).toEqual(["a", "a"]);
  });

  it("is asked rather than one that is full, and not kept from calls once it answers", async () => {
    const door = gate("b");
    const a = backend("a", inTurn(limits(), limits(), limits(), says("a")));
    const b = backend("b", inTurn(says("b"), says("b"), says("b"), door.handle, says("b")));
    const targets = [{ backend: "a" }, { backend: "b", priority: 1, maxInFlight: 1 }];
    const { core } = bench([a, b], few, [{ name: "m", targets }]);
    expect(await said(core, 3)).toEqual(["b", "b", "b"]);
    const waiting = textOf(run(core, "chat", hello));
    expect(await said(core, 2)).toEqual(["a", "a"]);
    door.open();
    expect(await waiting).toBe("b");
  });

  it("is as good as any where it answers in between", async () => {
    const some = [limits(), limits(), says("a")];
    const a = backend("a", inTurn(...some, ...some, ...some));
    const { core } = bench([a, backend("b")], few, inOrder);
    expect(await said(core, 9)).toEqual(["b", "b", "a", "b", "b", "a", "b", "b", "a"]);
  });
});
