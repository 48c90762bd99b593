/** What becomes of a prompt that moderation refuses, where other targets may be asked. */
import { describe, expect, it } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { settled } from "../support/clock.js";
import { run } from "../support/core.js";
import {
  backend,
  bench,
  fails,
  failure,
  gate,
  hello,
  inTurn,
  type Some,
  stateOf,
  textOf,
} from "../support/routing.js";
import { piece, type Scripted, says } from "../support/scripted.js";

const refuses = fails("content_blocked");
const filtered: Handle<"chat"> = async function* () {
  yield [piece("", "content_filter", [7, 0])];
};

const wanted = (all: readonly Scripted[], some: Some = {}) =>
  bench(all, { ...some, retry: { blocked: true, ...(some.retry as object) } });
const ask = (core: ReturnType<typeof bench>["core"]) => textOf(run(core, "chat", hello));

describe("a refusal", () => {
  it("is told once all have refused, each of which was asked once", async () => {
    const all = [backend("a", refuses), backend("b", refuses)];
    const { core } = wanted(all);
    await expect(ask(core)).rejects.toEqual(
      failure("content_blocked", { message: "said content_blocked", http: 400 }),
    );
    expect(all.map(({ asked }) => asked.length)).toEqual([1, 1]);
    for (const name of ["a", "b"]) expect(stateOf(core, name)).toMatchObject({ failures: 0 });
  });
  it("is told where no other target takes calls", async () => {
    const all = [backend("a", refuses), backend("b", inTurn(fails("unavailable")))];
    const { core } = wanted(all, { health: { failures: 1 }, retry: { attempts: 2 } });
    await expect(ask(core)).rejects.toEqual(failure("unavailable"));
    await expect(ask(core)).rejects.toEqual(failure("content_blocked"));
    expect(all.map(({ asked }) => asked.length)).toEqual([2, 1]);
  });
  it("takes from attempts and the budget as other failures do", async () => {
    for (const retry of [{ attempts: 1 }, { budget: 0, floor: 0 }]) {
      const all = [backend("a", refuses), backend("b")];
      await expect(ask(wanted(all, { retry }).core)).rejects.toEqual(failure("content_blocked"));
      expect(all[1]?.asked).toHaveLength(0);
    }
  });
  it("never follows a word", async () => {
    const half = async function* () {
      yield [piece("half")];
      yield* refuses({} as never);
    };
    const all = [backend("a", half as Handle<"chat">), backend("b")];
    await expect(ask(wanted(all).core)).rejects.toEqual(failure("content_blocked"));
    expect(all[1]?.asked).toHaveLength(0);
  });
});

describe("a blocked answer", () => {
  const reasonOf = async (core: ReturnType<typeof bench>["core"]) =>
    (await run(core, "chat", hello)).at(-1)?.choices[0]?.finishReason;

  it("is the caller's where nobody else may be asked: the last, one alone, without attempts, or budget", async () => {
    const cases: [Scripted[], object][] = [
      [[backend("a", filtered)], {}],
      [[backend("a", filtered), backend("b", filtered)], {}],
      [[backend("a", filtered), backend("b")], { attempts: 1 }],
      [[backend("a", filtered), backend("b")], { budget: 0, floor: 0 }],
    ];
    for (const [all, retry] of cases) {
      expect(await reasonOf(wanted(all, { retry }).core)).toBe("content_filter");
    }
  });
  it("is another one's, and leaves the health of the first alone", async () => {
    let open = 0;
    const held: Handle<"chat"> = async function* (call) {
      open++;
      try {
        yield* filtered(call);
      } finally {
        open--;
      }
    };
    const all = [backend("a", held), backend("b")];
    const { core } = wanted(all);
    expect(await reasonOf(core)).toBe("stop");
    // Nobody reads what may follow.
    expect(open).toBe(0);
    expect(await ask(core)).toBe("b");
    expect(stateOf(core, "a")).toMatchObject({ inFlight: 0, attempts: 2, failures: 0 });
  });
  it("brings a target back that was out: it answered", async () => {
    const all = [backend("a", inTurn(fails("unavailable"), filtered)), backend("b")];
    const { core, clock } = wanted(all, { health: { failures: 1 } });
    expect(await ask(core)).toBe("b");
    await clock.advance(1000);
    expect(await ask(core)).toBe("b");
    expect(stateOf(core, "a").state).toBe("in");
  });
  it("waits for a second target that is asked already, and ends no hedge", async () => {
    for (const blocks of [filtered, refuses]) {
      const slow = gate("b");
      const late: Handle<"chat"> = async function* (call) {
        await held;
        yield* blocks(call);
      };
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const all = [
        backend("a", inTurn(...Array(20).fill(says("a")), late)),
        backend("b", slow.handle),
      ];
      const { core, clock } = wanted(all, {
        hedge: { percentile: 95, leastMs: 50 },
        retry: { attempts: 2 },
      });
      for (let i = 0; i < 20; i++) await ask(core);
      const answer = ask(core);
      await clock.advance(60);
      expect(slow.begun).toBe(1);
      release();
      await settled();
      slow.open();
      expect(await answer).toBe("b");
    }
  });
});
