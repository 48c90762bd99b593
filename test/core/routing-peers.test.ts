/** What gateways tell each other: who is out, and who has how much already. */
import { describe, expect, it } from "vitest";
import type { Handle } from "../../src/core/call.js";
import type { Core } from "../../src/core/core.js";
import type { Peers } from "../../src/core/routing/peers.js";
import { FakeClock, seeded, settled } from "../support/clock.js";
import { coreOf, run } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { meeting } from "../support/peers.js";
import {
  backend,
  equals,
  fails,
  failure,
  gate,
  hello,
  inTurn,
  routing,
  type Some,
  stateOf,
  textOf,
} from "../support/routing.js";
import { says, scripted } from "../support/scripted.js";

const clock = new FakeClock();

/** A gateway before a target `a`, and `b` to fall back on. */
function gateway(peers: Peers, a: Handle<"chat">, some: Some = {}): Core {
  const all = [backend("a", a), backend("b")];
  const models = [
    { name: "m", targets: all.map(({ name }, priority) => ({ backend: name, priority })) },
  ];
  const core = coreOf(all, { routing: routing(some), models }, { peers, clock, random: seeded(1) });
  core.routing.start();
  return core;
}

const ask = (core: Core, credential = "me") => textOf(run(core, "chat", hello, { credential }));
const stateOfA = (core: Core) => stateOf(core, "a").state;

/** Until it is out. */
async function breakA(core: Core): Promise<void> {
  while (stateOfA(core) === "in") await ask(core);
}

describe("a target that another gateway has taken out", () => {
  it("is taken out by one failure", async () => {
    const peers = meeting();
    const first = gateway(peers, fails("unavailable"));
    const second = gateway(peers, inTurn(says("a"), fails("unavailable")));
    await breakA(first);
    await clock.advance(1000);
    expect(stateOfA(second)).toBe("in");
    expect(await ask(second)).toBe("a");
    await clock.advance(1000);
    expect(await ask(second)).toBe("b");
    expect(stateOfA(second)).toBe("out");
  });
  it("is not, where it answers: what others say is no more than a hint", async () => {
    const peers = meeting();
    const first = gateway(peers, fails("unavailable"));
    const second = gateway(peers, says("a"));
    await breakA(first);
    for (let i = 0; i < 20; i++) {
      await clock.advance(1000);
      expect(await ask(second)).toBe("a");
    }
    expect(stateOfA(second)).toBe("in");
  });
  it("is not said to be out for ever by a gateway that nobody calls", async () => {
    const peers = meeting();
    const first = gateway(peers, fails("unavailable"));
    await breakA(first);
    const out = () => [...peers.told.values()].flatMap((report) => report.out);
    await clock.advance(1000);
    expect(out()).toEqual(["a\nm"]);
    await clock.advance(3000);
    expect(stateOfA(first)).toBe("due");
    expect(out()).toEqual([]);
  });
  it("counts as usual once it is back there", async () => {
    const peers = meeting();
    const some = { health: { failures: 3 } };
    const first = gateway(peers, inTurn(...Array(3).fill(fails("unavailable")), says("a")), some);
    const second = gateway(peers, inTurn(says("a"), fails("unavailable")), some);
    await breakA(first);
    await clock.advance(2000);
    expect(await ask(first)).toBe("a");
    await clock.advance(2000);
    // What it was told before is forgotten with a complete answer.
    expect(await ask(second)).toBe("a");
    expect(await ask(second)).toBe("b");
    expect(stateOfA(second)).toBe("in");
  });
  it("is said in the log, once", async () => {
    const peers = meeting();
    const lines: unknown[] = [];
    const info = (fields: object, text?: string) => {
      if (text?.includes("another gateway")) lines.push(fields);
    };
    const log = { level: "info", debug() {}, info, warn() {}, error() {} };
    const all = [backend("a"), backend("b")];
    const parts = { peers, clock, log: log as never };
    const second = coreOf(all, { routing: routing(), models: equals(all) }, parts);
    second.routing.start();
    await breakA(gateway(peers, fails("unavailable")));
    await clock.advance(5000);
    expect(lines).toEqual([{ backend: "a", model: "m" }]);
  });
  it("is told at once, and no more after the end", async () => {
    const peers = meeting();
    const first = gateway(peers, fails("unavailable"));
    await settled();
    await breakA(first);
    await settled();
    expect([...peers.told.values()]).toEqual([{ out: ["a\nm"], running: [] }]);
    first.routing.close();
    await clock.advance(5000);
    expect(peers.told.size).toBe(0);
  });
});

describe("callers of several gateways", () => {
  const bound = { maxInFlight: 1 };
  const models = [{ name: "m", backends: ["a"] }];
  function pair(peers = meeting()) {
    const doors = [gate(), gate()] as const;
    const cores = doors.map((door) => {
      const parts = { peers, clock, random: seeded(1) };
      const core = coreOf([backend("a", door.handle)], { routing: routing(bound), models }, parts);
      core.routing.start();
      return core;
    }) as [Core, Core];
    return { peers, doors, cores };
  }
  /** At the second gateway: who is served first of one who has a call at the first, and one who came later. */
  async function order({ doors, cores }: ReturnType<typeof pair>): Promise<string[]> {
    const elsewhere = ask(cores[0], "greedy");
    await clock.advance(1000);
    const served: string[] = [];
    const waits = ["other", "greedy", "modest"].map((caller) =>
      ask(cores[1], caller).then(() => served.push(caller)),
    );
    await clock.advance(1000);
    for (const _ of waits) {
      doors[1].open();
      await settled();
    }
    doors[0].open();
    await Promise.all([elsewhere, ...waits]);
    return served;
  }
  it("who has less running anywhere is next", async () => {
    expect(await order(pair())).toEqual(["other", "modest", "greedy"]);
  });
  it("are served in turn by each gateway where these do not hear of each other", async () => {
    const gateways = pair();
    gateways.peers.away = true;
    expect(await order(gateways)).toEqual(["other", "greedy", "modest"]);
  });
  it("tell what runs, and no more than that", async () => {
    const { peers, doors, cores } = pair();
    const told = () => [...peers.told.values()].map(({ running }) => running);
    const answers = [ask(cores[0], "x"), ask(cores[0], "y"), ask(cores[1], "x")];
    await clock.advance(1000);
    const one = [["a\nm", expect.any(String), 1]];
    expect(told()).toEqual([one, one]);
    doors[0].open();
    doors[1].open();
    await clock.advance(1000);
    expect(told()).toEqual([one, []]);
    doors[0].open();
    await Promise.all(answers);
    await clock.advance(1000);
    expect(told()).toEqual([[], []]);
  });
  it("count those of each gateway's own that go on, and no others", async () => {
    const peers = meeting();
    const door = gate();
    const parts = { peers, clock, random: seeded(1) };
    const settings = { routing: routing({ maxInFlight: 3 }), models };
    const core = coreOf([backend("a", door.handle)], settings, parts);
    core.routing.start();
    const served: string[] = [];
    const come = (callers: readonly string[]) =>
      callers.map((caller) => ask(core, caller).then(() => served.push(caller)));
    const begun = come(["other", "greedy", "greedy"]);
    await settled();
    const waits = come(["greedy", "modest"]);
    await settled();
    const told = () => [...peers.told.values()].map(({ running }) => running.map(([, , n]) => n));
    await clock.advance(1000);
    expect(told()).toEqual([[1, 2]]);
    // The first to end is the other's, whose place goes to the modest one; then one of the greedy's ends.
    for (let i = 0; i < 2; i++) {
      door.open();
      await clock.advance(1000);
      expect(told()).toEqual([[2, 1]]);
    }
    for (let i = 0; i < 3; i++) {
      door.open();
      await settled();
    }
    await Promise.all([...begun, ...waits]);
    expect(served).toEqual(["other", "greedy", "greedy", "modest", "greedy"]);
  });
  it("tell nothing of one whom the target could not serve", async () => {
    const peers = meeting();
    const plain = scripted({ chat: says("a") }, [chatModel("m", { supports: [] })], "a");
    const core = coreOf([plain], { routing: routing(bound), models }, { peers, clock });
    core.routing.start();
    await expect(run(core, "chat", { ...hello, stop: ["x"] })).rejects.toEqual(
      failure("unsupported_parameter"),
    );
    await clock.advance(1000);
    expect([...peers.told.values()]).toEqual([{ out: [], running: [] }]);
  });
  it("are not counted where nothing is bounded", async () => {
    const peers = meeting();
    const door = gate();
    const core = gateway(peers, door.handle);
    const answer = ask(core);
    await clock.advance(1000);
    expect([...peers.told.values()]).toEqual([{ out: [], running: [] }]);
    door.open();
    await answer;
  });
});

it("a place where nobody answers for long holds up no call", async () => {
  const never: Peers = { join: () => ({ exchange: () => new Promise(() => {}), leave() {} }) };
  const core = gateway(never, fails("unavailable"), { retry: { attempts: 1 } });
  await expect(ask(core)).rejects.toEqual(failure("unavailable"));
});
