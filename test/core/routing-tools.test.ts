/** Which target gets a call that offers tools, where not all of them know any. */
import { describe, expect, it } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { run } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { backend, bench, equals, fails, gate, hello, inTurn, textOf } from "../support/routing.js";
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
