/** Which of several targets gets a call. */
import { describe, expect, it } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { LintelError } from "../../src/core/errors.js";
import { Candidates } from "../../src/core/routing/candidates.js";
import { choose } from "../../src/core/routing/choose.js";
import { Endpoint } from "../../src/core/routing/endpoint.js";
import { routingDefaults } from "../../src/core/routing/settings.js";
import type { Target } from "../../src/core/routing/target.js";
import { FakeClock, seeded } from "../support/clock.js";
import { chatModel } from "../support/models.js";

const { health } = routingDefaults;

const events = { out() {}, back() {} };

function endpoint(backend: string, model = "m"): Endpoint {
  return new Endpoint(backend, model, health, { clock: new FakeClock(), random: () => 0 }, events);
}

function target(name: string, known: Partial<Target> = {}): Target {
  const backend = { name } as Backend;
  return { backend, model: chatModel("m"), weight: 1, tier: 0, endpoint: endpoint(name), ...known };
}

describe("choose", () => {
  const share = (targets: readonly Target[], calls: number, leave: number) => {
    const random = seeded(7);
    const counts = new Map(targets.map((it) => [it.endpoint.backend, 0]));
    const running: Target[] = [];
    for (let i = 0; i < calls; i++) {
      const chosen = choose(targets, { now: 0, random }) as Target;
      counts.set(chosen.endpoint.backend, (counts.get(chosen.endpoint.backend) ?? 0) + 1);
      chosen.endpoint.take("me");
      running.push(chosen);
      if (running.length > leave) {
        const [left] = running.splice(Math.floor(random() * running.length), 1);
        left?.endpoint.end("ok", false, 0, 0, undefined, "me");
      }
    }
    return [...counts.values()].map((n) => n / calls);
  };
  it.each([0, 50])("shares calls by weight, with %i running", (leave) => {
    const targets = [target("a", { weight: 1 }), target("b", { weight: 3 }), target("c")];
    const shares = share(targets, 5000, leave);
    for (const [i, wanted] of [0.2, 0.6, 0.2].entries()) {
      expect(Math.abs((shares[i] as number) - wanted)).toBeLessThan(0.05);
    }
  });
  it("prefers the less busy of two", () => {
    const targets = [target("a"), target("b")];
    for (let i = 0; i < 3; i++) targets[0]?.endpoint.take("me");
    for (let i = 0; i < 20; i++) {
      expect(choose(targets, { now: 0, random: seeded(i) })).toBe(targets[1]);
    }
  });
  it("takes the second of the two by weight among the others alone", () => {
    const targets = ["a", "b", "c"].map((name) => target(name));
    for (let i = 0; i < 9; i++) targets[0]?.endpoint.take("me");
    const random = seeded(3);
    const chosen = Array.from({ length: 4000 }, () => choose(targets, { now: 0, random }));
    const share = chosen.filter((one) => one === targets[1]).length / chosen.length;
    expect(Math.abs(share - 0.5)).toBeLessThan(0.03);
  });
  it("goes to a lower priority only where all above are out, passed over or full", () => {
    const [a, b, c] = [target("a"), target("b"), target("c", { tier: 1 })] as const;
    const at = (more = {}) => choose([a, b, c], { now: 0, random: () => 0.999, ...more });
    expect([a, b]).toContain(at());
    b.endpoint.takeOut(0);
    expect(at()).toBe(a);
    expect(at({ without: new Set([a]) })).toBe(c);
    a.endpoint.bound(1);
    a.endpoint.take("me");
    expect(at()).toBe(c);
    c.endpoint.takeOut(0);
    expect(at()).toBe("full");
    a.endpoint.takeOut(0);
    expect(at()).toBeUndefined();
  });
  it("keeps a session where it is; only its own sessions move when a target leaves, and come back", () => {
    const targets = ["a", "b", "c", "d"].map((name) => target(name));
    const homes = () =>
      Array.from(
        { length: 2000 },
        (_, i) =>
          (choose(targets, { now: 0, random: seeded(i), affinity: `user-${i}` }) as Target).endpoint
            .backend,
      );
    const before = homes();
    expect(homes()).toEqual(before);
    for (const { endpoint } of targets) {
      const share = before.filter((home) => home === endpoint.backend).length / 2000;
      expect(Math.abs(share - 0.25)).toBeLessThan(0.05);
    }
    targets[1]?.endpoint.takeOut(0);
    const without = homes();
    const moved = before.filter((home, i) => home !== without[i]);
    expect(new Set(moved)).toEqual(new Set(["b"]));
    expect(without).not.toContain("b");
  });
  it("sends sessions on that belong to a target with more calls than its share and a half, and four", () => {
    const targets = ["a", "b", "c"].map((name) => target(name, { weight: name === "c" ? 2 : 1 }));
    const at = (i: number) => choose(targets, { now: 0, random: () => 0, affinity: `${i}` });
    const before = Array.from({ length: 200 }, (_, i) => at(i));
    const [a, , c] = targets;
    // Its share of 6 calls is 1.5; with a half more, and four, it takes 6.25.
    for (let i = 0; i < 6; i++) a?.endpoint.take("me");
    expect(Array.from({ length: 200 }, (_, i) => at(i))).toEqual(before);
    a?.endpoint.take("me");
    const after = Array.from({ length: 200 }, (_, i) => at(i));
    expect(after).not.toContain(a);
    for (const [i, home] of before.entries()) if (home !== a) expect(after[i]).toBe(home);
    // As others have more, it is busy no longer.
    for (let i = 0; i < 4; i++) c?.endpoint.take("me");
    expect(Array.from({ length: 200 }, (_, i) => at(i))).toEqual(before);
  });
  it("gives sessions to several models of one backend", () => {
    const targets = ["m", "n"].map((model) => target("a", { endpoint: endpoint("a", model) }));
    const homes = Array.from({ length: 1000 }, (_, i) =>
      choose(targets, { now: 0, random: () => 0, affinity: `${i}` }),
    );
    const share = homes.filter((home) => home === targets[0]).length / 1000;
    expect(Math.abs(share - 0.5)).toBeLessThan(0.05);
  });
  it("gives sessions by weight", () => {
    const targets = [target("a"), target("b", { weight: 3 })];
    let b = 0;
    for (let i = 0; i < 4000; i++) {
      const chosen = choose(targets, { now: 0, random: () => 0, affinity: `${i}` });
      if (chosen === targets[1]) b++;
    }
    expect(Math.abs(b / 4000 - 0.75)).toBeLessThan(0.04);
  });
});

describe("a second target beside one that is slow", () => {
  const lost = new LintelError("upstream_failed", "the model server failed");
  const among = (targets: readonly Target[]) => new Candidates(targets, undefined, () => 0, false);

  it("is one that was not asked before, and is not unfit", () => {
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => target(name)) as Target[];
    if (!a || !b || !c || !d) throw new Error("there are four");
    const candidates = among([a, b, c, d]);
    candidates.failed(a, lost);
    candidates.unfit(b, lost);
    expect(candidates.second(0, [c])).toBe(d);
    expect(candidates.second(0, [c, d])).toBeUndefined();
    // The call itself may go to one again that failed.
    c.endpoint.takeOut(0);
    d.endpoint.takeOut(0);
    expect(candidates.choose(0)).toBe(a);
  });

  it("has room, and is healthy", () => {
    const [a, b] = [target("a"), target("b")];
    const candidates = among([a, b]);
    expect(candidates.second(0, [a])).toBe(b);
    b.endpoint.bound(1);
    b.endpoint.take("me");
    expect(candidates.second(0, [a])).toBeUndefined();
    b.endpoint.bound(2);
    b.endpoint.takeOut(0);
    expect(candidates.second(0, [a])).toBeUndefined();
  });
});

describe("where no target is healthy", () => {
  const now = 10_000;
  const three = () => {
    const [a, b, c] = ["a", "b", "c"].map((name, tier) => target(name, { tier })) as Target[];
    if (!a || !b || !c) throw new Error("there are three");
    return { all: [a, b, c], a, b, c };
  };
  const at = (targets: readonly Target[], more = {}) =>
    choose(targets, { now, random: () => 0, ...more });
  const leaves = ({ endpoint }: Target, since: number) =>
    endpoint.health.rests(60_000, since, true);
  /** Its health check fails, and its pause is over. */
  const away = ({ endpoint }: Target) => endpoint.takeOut(0);
  const fill = ({ endpoint }: Target) => {
    endpoint.bound(1);
    endpoint.take("me");
  };
  /** One call tries it. */
  const tried = ({ endpoint }: Target) => {
    for (let i = 0; i < health.failures; i++) {
      endpoint.take("me");
      endpoint.end("failed", false, 0, 0, undefined, "me");
    }
    expect(endpoint.take("me")).toBe(true);
  };
  const rests = ({ endpoint }: Target) => endpoint.health.rests(60_000, 0, false);

  it("asks one that is about to leave: the first that said so, and rather than one whose check fails", () => {
    const { all, a, b, c } = three();
    away(a);
    leaves(b, 2000);
    leaves(c, 1000);
    expect(at(all)).toBe(c);
    expect(at([a, b])).toBe(b);
    expect(at([a])).toBe(a);
  });
  it("asks the first of those that are alike", () => {
    const { all, a } = three();
    for (const one of all) away(one);
    expect(at(all)).toBe(a);
    const leaving = three();
    for (const one of leaving.all) leaves(one, 1000);
    expect(at(leaving.all)).toBe(leaving.a);
  });
  it("asks none of these that has no room, where another one has", () => {
    const { all, a, b, c } = three();
    leaves(a, 1000);
    leaves(b, 3000);
    away(c);
    fill(a);
    expect(at(all)).toBe(b);
    // In whatever order they stand.
    expect(at([c, b, a])).toBe(b);
    fill(b);
    expect(at(all)).toBe(c);
    fill(c);
    expect(at(all)).toBe("full");
  });
  it("asks none of these while one that is healthy has no room: that is waited for", () => {
    const { all, a, b, c } = three();
    leaves(a, 1000);
    away(b);
    fill(c);
    expect(at(all)).toBe("full");
  });
  it("waits for what comes of a call that tries one, where the call is patient and nobody else may be asked", () => {
    const { all, a, b, c } = three();
    rests(a);
    tried(b);
    rests(c);
    expect(at(all)).toBeUndefined();
    expect(at(all, { patient: true })).toBe("full");
    const other = three();
    tried(other.a);
    leaves(other.b, 1000);
    expect(at([other.a, other.b], { patient: true })).toBe(other.b);
  });
});
