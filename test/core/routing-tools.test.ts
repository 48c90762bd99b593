/** Which target gets a call that offers tools, where not all of them know any. */
import { describe, expect, it } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { run } from "../support/core.js";
import { chatModel } from "../support/models.js";
import {
  backend,
  bench,
  equals,
  fails,
  gate,
  hello,
  inTurn,
  stateOf,
  textOf,
} from "../support/routing.js";
import { says, scripted } from "../support/scripted.js";

const tools = [{ function: { name: "f" } }];
const offering = { ...hello, model: "m", tools };

/** A backend whose model knows no tools. */
const plain = (name: string, chat: Handle<"chat"> = says(name)) =>
  scripted({ chat }, [chatModel("m", { supports: ["temperature"] })], name);

describe("a call that offers tools", () => {
  it("goes to a target that knows them, also of a later tier, and without any to whoever is first", async () => {
    const { core } = bench([plain("plain"), backend("able")]);
    expect(await textOf(run(core, "chat", offering))).toBe("able");
    expect(await textOf(run(core, "chat", { ...offering, tools: [] }))).toBe("plain");
    expect(await textOf(run(core, "chat", { ...offering, toolChoice: { type: "none" } }))).toBe(
      "plain",
    );
  });

  it("goes to one that knows none where no other one can answer, and the caller is told", async () => {
    const broken = backend("able", fails("upstream_unreachable"));
    const { core } = bench([plain("plain"), broken]);
    const [answer] = await run(core, "complete", offering);
    expect(answer?.choices[0]?.message?.content).toBe("plain");
    expect(answer?.warnings).toEqual(["tools: not supported by this model, ignored"]);
    expect(broken.asked).toHaveLength(1);
  });

  it("goes there at once while the others are known to be away", async () => {
    const broken = backend("able", fails("upstream_unreachable"));
    const { core } = bench([plain("plain"), broken], { health: { failures: 1 } });
    for (let i = 0; i < 3; i++) expect(await textOf(run(core, "chat", offering))).toBe("plain");
    expect(broken.asked).toHaveLength(1);
  });

  it("goes there also where one of the others might be asked rather than nobody: its health check fails", async () => {
    const health = () => Promise.reject(new LintelError("upstream_unreachable", "refused"));
    const able = scripted({ chat: says("able") }, [chatModel("m")], "able", { health });
    const check = { intervalMs: 5000, timeoutMs: 500, backends: ["able"] };
    const { core, clock } = bench([plain("plain"), able], {
      health: { check, firstPauseMs: 1000 },
    });
    core.routing.start();
    await clock.advance(12_000);
    expect(stateOf(core, "able")).toMatchObject({ state: "out", outForMs: 1000 });
    expect(await textOf(run(core, "chat", offering))).toBe("plain");
    core.routing.close();
  });

  it.each([
    { of: "one that knows none is no help to one that is slow", all: false, second: 0 },
    { of: "where none knows any, each is", all: true, second: 1 },
  ])("where it is hedged, $of", async ({ all, second }) => {
    const held = gate("slow");
    const usual = Array<Handle<"chat">>(20).fill(says("x"));
    const slow = (all ? plain : backend)("slow", inTurn(...usual, held.handle));
    const plainly = plain("plain");
    const { core, clock } = bench([slow, plainly], { hedge: { percentile: 90, leastMs: 50 } });
    for (let i = 0; i < 20; i++) await run(core, "chat", hello);
    const answer = run(core, "chat", offering);
    await clock.advance(1000);
    expect([held.begun, plainly.asked.length]).toEqual([1, second]);
    held.open();
    await answer;
  });

  it("waits for one that knows them, where that has no room", async () => {
    const held = gate("able");
    const plainly = plain("plain");
    const backends = [plainly, backend("able", held.handle)];
    const { core } = bench(backends, {}, equals(backends, { maxInFlight: 1 }));
    const first = textOf(run(core, "chat", offering));
    const second = textOf(run(core, "chat", offering));
    while (held.begun < 1) await new Promise(setImmediate);
    held.open();
    expect(await first).toBe("able");
    while (held.begun < 2) await new Promise(setImmediate);
    held.open();
    expect(await second).toBe("able");
    expect(plainly.asked).toEqual([]);
  });

  it("waits for that alone: it does not go to another one when other calls come and go there", async () => {
    const held = gate("able");
    const plainly = plain("plain");
    const { core, clock } = bench([plainly, backend("able", held.handle)], { maxInFlight: 1 });
    const both = [1, 2].map(() => textOf(run(core, "chat", offering)));
    await clock.advance(0);
    expect(await textOf(run(core, "chat", hello))).toBe("plain");
    held.open();
    await clock.advance(0);
    held.open();
    expect(await Promise.all(both)).toEqual(["able", "able"]);
    expect(plainly.asked).toHaveLength(1);
  });

  it("goes to another one where as many wait for it as may", async () => {
    const held = gate("able");
    const some = { maxInFlight: 1, queue: { size: 1 } };
    const { core, clock } = bench([plain("plain"), backend("able", held.handle)], some);
    const both = [1, 2].map(() => textOf(run(core, "chat", offering)));
    await clock.advance(0);
    expect(await textOf(run(core, "chat", offering))).toBe("plain");
    held.open();
    await clock.advance(0);
    held.open();
    expect(await Promise.all(both)).toEqual(["able", "able"]);
    expect(clock.timers).toBe(0);
  });

  it("goes to another one once what it waits for is out", async () => {
    const held = gate("able");
    const some = { maxInFlight: 1, health: { failures: 1 } };
    const { core, clock } = bench([plain("plain"), backend("able", held.handle)], some);
    const both = [1, 2].map(() => textOf(run(core, "chat", offering)));
    await clock.advance(0);
    held.fail(new LintelError("upstream_unreachable", "refused"));
    await clock.advance(0);
    expect(await Promise.all(both)).toEqual(["plain", "plain"]);
  });

  it("goes to one that knows them again, where the others fail as well", async () => {
    const busy = fails("unavailable");
    const able = backend("able", inTurn(busy, says("able")));
    const plainly = plain("plain", busy);
    const { core, clock } = bench([plainly, able]);
    const answer = textOf(run(core, "chat", offering));
    await clock.advance(10_000);
    expect(await answer).toBe("able");
    expect(plainly.asked).toHaveLength(1);
  });

  it("goes to one that knows them again, rather than wait for another one that has no room", async () => {
    const held = gate("full");
    const busy = backend("busy", inTurn(fails("unavailable"), says("busy")));
    const full = backend("full", held.handle);
    const plainly = plain("plain");
    const targets = [
      { backend: "plain" },
      { backend: "busy", priority: 1 },
      { backend: "full", priority: 2, maxInFlight: 1 },
    ];
    const { core, clock } = bench([plainly, busy, full], {}, [
      { name: "m", targets },
      { name: "other", model: "m", backends: ["full"] },
    ]);
    const first = textOf(run(core, "chat", { ...offering, model: "other" }));
    await clock.advance(0);
    const answer = textOf(run(core, "chat", offering));
    await clock.advance(10_000);
    expect(await answer).toBe("busy");
    expect(plainly.asked).toEqual([]);
    held.open();
    expect(await first).toBe("full");
  });

  it("goes to any where none knows them", async () => {
    const { core } = bench([plain("one"), plain("two")]);
    expect(await textOf(run(core, "chat", offering))).toBe("one");
  });
});
