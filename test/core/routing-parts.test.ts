/** The parts of routing alone: counting, names, taking turns. */
import { describe, expect, it, vi } from "vitest";
import { fits, restOf } from "../../src/core/pattern.js";
import { RetryBudget } from "../../src/core/routing/budget.js";
import { Circuit } from "../../src/core/routing/circuit.js";
import { systemClock } from "../../src/core/routing/clock.js";
import { Latency } from "../../src/core/routing/latency.js";
import { fill, Names } from "../../src/core/routing/names.js";
import { FairQueue, Waiter } from "../../src/core/routing/queue.js";
import { routingDefaults } from "../../src/core/routing/settings.js";
import { RollingCounts } from "../../src/core/routing/window.js";
import { seeded } from "../support/clock.js";

const { health, retry } = routingDefaults;

describe("RollingCounts", () => {
  it("counts what lies within the window, to a tenth of it", () => {
    const counts = new RollingCounts(1000);
    const events: number[] = [];
    const random = seeded(1);
    for (let now = 0; now < 20_000; now += Math.floor(random() * 300)) {
      counts.add(now, 1, 0);
      events.push(now);
      const within = (ms: number) => events.filter((at) => at > now - ms).length;
      expect(counts.total(now)).toBeLessThanOrEqual(within(1000));
      expect(counts.total(now)).toBeGreaterThanOrEqual(within(900));
    }
    expect(counts.total(50_000)).toBe(0);
  });
});

describe("RetryBudget", () => {
  it("never lets through more than its share and its floor in any window", () => {
    for (let seed = 1; seed <= 10; seed++) {
      const random = seeded(seed);
      const settings = { ...retry, budget: random(), floor: Math.floor(random() * 5) };
      const budget = new RetryBudget(settings);
      const requests: number[] = [];
      const retries: number[] = [];
      let now = 0;
      for (let i = 0; i < 1000; i++) {
        now += random() * 100;
        budget.request(now);
        requests.push(now);
        while (random() < 0.7) if (budget.take(now)) retries.push(now);
        // What is nearly as old as the window may count for neither.
        const within = (times: number[], ms: number) =>
          times.length - 1 - times.findLastIndex((t) => t <= now - ms);
        const most = settings.floor + settings.budget * within(requests, 10_000);
        expect(within(retries, 9000)).toBeLessThanOrEqual(most);
      }
      expect(retries.length).toBeGreaterThan(0);
    }
  });
  it("is refilled as time passes, and tells what it denied", () => {
    const budget = new RetryBudget({ ...retry, budget: 0, floor: 2 });
    expect([budget.take(0), budget.take(0), budget.take(0)]).toEqual([true, true, false]);
    expect(budget.take(retry.windowMs * 1.1)).toBe(true);
    expect(budget.snapshot(retry.windowMs * 1.1)).toEqual({ requests: 0, retries: 1, denied: 1 });
  });
});

describe("Circuit", () => {
  const failing = (circuit: Circuit, times: number, now = 0) => {
    for (let i = 0; i < times; i++) circuit.end("failed", false, now);
  };
  it("opens after failures in a row, which a success interrupts", () => {
    const circuit = new Circuit(health, () => 0);
    failing(circuit, health.failures - 1);
    circuit.end("ok", false, 0);
    failing(circuit, health.failures - 1);
    expect(circuit.usable(0)).toBe(true);
    circuit.end("neutral", false, 0);
    failing(circuit, 1);
    expect(circuit.out).toBe(true);
  });
  it("opens at a share of failures, once there are enough samples within the window", () => {
    const rated = { ...health, failures: 1000, samples: 10 };
    const circuit = new Circuit(rated, () => 0);
    for (let i = 0; i < 4; i++) {
      circuit.end("ok", false, 0);
      circuit.end("failed", false, 0);
    }
    circuit.end("ok", false, 0);
    expect(circuit.out).toBe(false);
    circuit.end("failed", false, 0);
    expect(circuit.out).toBe(true);
    const late = new Circuit(rated, () => 0);
    for (let i = 0; i < 9; i++) late.end("failed", false, 0);
    late.end("failed", false, rated.windowMs * 2);
    expect(late.out).toBe(false);
  });
  it("stays closed below that share, however many fail", () => {
    const circuit = new Circuit({ ...health, failures: 1000, samples: 10 }, () => 0);
    for (let i = 0; i < 100; i++) {
      circuit.end("ok", false, 0);
      circuit.end("ok", false, 0);
      failing(circuit, 1);
    }
    expect(circuit.out).toBe(false);
  });
  it("is closed by one answer, and not again by the next", () => {
    const circuit = new Circuit(health, () => 0);
    failing(circuit, health.failures);
    circuit.begin();
    expect([circuit.answered(), circuit.answered()]).toEqual([true, false]);
    expect(circuit.out).toBe(false);
  });
  it("forgets what had failed before it closed", () => {
    const rated = { ...health, failures: 1000, samples: 10 };
    const circuit = new Circuit(rated, () => 0);
    failing(circuit, 10);
    expect(circuit.out).toBe(true);
    circuit.begin();
    circuit.end("ok", true, 1);
    circuit.end("ok", false, 1);
    failing(circuit, 8, 1);
    expect(circuit.out).toBe(false);
    failing(circuit, 1, 1);
    expect(circuit.out).toBe(true);
  });
  it("lets one call try it after a pause that doubles up to its longest", () => {
    const circuit = new Circuit(health, () => 0);
    failing(circuit, health.failures);
    let now = 0;
    const pauses: number[] = [];
    for (let i = 0; i < 9; i++) {
      pauses.push(circuit.until - now);
      expect(circuit.usable(circuit.until - 1)).toBe(false);
      now = circuit.until;
      expect(circuit.usable(now)).toBe(true);
      expect(circuit.begin()).toBe(true);
      expect(circuit.usable(now)).toBe(false);
      circuit.end("failed", true, now);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((s) => s * 1000));
  });
  it("closes when the one is answered; the next failure opens it again until an answer was complete", () => {
    const circuit = new Circuit(health, () => 0);
    failing(circuit, health.failures);
    circuit.begin();
    expect(circuit.answered()).toBe(true);
    expect(circuit.usable(0)).toBe(true);
    circuit.end("failed", false, 0);
    expect(circuit.until).toBe(2000);
    circuit.begin();
    circuit.answered();
    circuit.end("ok", false, 3000);
    failing(circuit, health.failures - 1, 3000);
    expect(circuit.out).toBe(false);
    failing(circuit, 1, 3000);
    expect(circuit.until).toBe(4000);
  });
  it("a call that tries it and ends without a verdict leaves that to the next one", () => {
    const circuit = new Circuit(health, () => 0);
    failing(circuit, health.failures);
    circuit.begin();
    circuit.end("neutral", true, 2000);
    expect(circuit.out).toBe(true);
    expect(circuit.usable(2000)).toBe(true);
  });
  it("has one call that tries it, also where something else says meanwhile that it is away", () => {
    const circuit = new Circuit(health, () => 0);
    failing(circuit, health.failures);
    circuit.begin();
    circuit.trip(2000);
    const { until } = circuit;
    expect([circuit.probing, circuit.usable(until)]).toEqual([true, false]);
    circuit.end("neutral", true, until);
    expect([circuit.usable(until), circuit.lastResort(until)]).toEqual([false, true]);
    circuit.hasten(until);
    expect([circuit.usable(until), circuit.lastResort(until)]).toEqual([true, false]);
  });
  it("learns nothing from calls that began before it opened", () => {
    const circuit = new Circuit(health, () => 0);
    failing(circuit, health.failures);
    const { until } = circuit;
    failing(circuit, 10, 500);
    circuit.end("ok", false, 500);
    expect([circuit.until, circuit.out]).toEqual([until, true]);
  });
});

describe("Latency", () => {
  it("tells percentiles of the last 128", () => {
    const latency = new Latency();
    expect(latency.percentile(50)).toBeUndefined();
    for (let i = 1; i <= 1000; i++) latency.add(i % 2 ? 1 : 1e6);
    for (let i = 1; i <= 128; i++) latency.add(129 - i);
    expect(latency.samples).toBe(128);
    expect([50, 95, 99, 100].map((p) => latency.percentile(p))).toEqual([64, 122, 127, 128]);
  });
});

describe("names", () => {
  it("a wildcard stands for anything, once", () => {
    expect(restOf("gpt-*", "gpt-4o")).toBe("4o");
    expect(restOf("*-mini", "gpt-mini")).toBe("gpt");
    expect(restOf("a*a", "a")).toBeUndefined();
    expect(restOf("gpt-*", "claude")).toBeUndefined();
    expect(restOf("gpt-4", "gpt-4")).toBeUndefined();
    expect(restOf("a*b*", "a-b-c")).toBeUndefined();
    expect(fill("openai/*", "$&")).toBe("openai/$&");
    expect(fits("*-mini", "gpt-mini")).toBe(true);
    expect(fits("gpt", "gpt")).toBe(true);
    expect(fits("gpt", "gpt-4o")).toBe(false);
  });
  it("an exact name wins, then the longest that fits", () => {
    const entries = [
      { name: "*" },
      { name: "gpt-*" },
      { name: "gpt-4*" },
      { name: "gpt-4o" },
      { name: "small", aliases: ["tiny", "mini-*"] },
    ];
    const names = new Names(entries);
    const of = (name: string) => [...names.find(name)].map((it) => [it.entry.name, it.name]);
    expect(of("gpt-4o")).toEqual([["gpt-4o", "gpt-4o"]]);
    expect(of("gpt-4.1")).toEqual([
      ["gpt-4*", "gpt-4.1"],
      ["gpt-*", "gpt-4.1"],
      ["*", "gpt-4.1"],
    ]);
    expect(of("tiny")).toEqual([["small", "small"]]);
    expect(of("mini-x")[0]).toEqual(["small", "small"]);
  });
});

describe("FairQueue", () => {
  it("serves callers in turn, each one's calls in their order, whatever comes and leaves", () => {
    for (let seed = 1; seed <= 30; seed++) {
      const random = seeded(seed);
      const queue = new FairQueue();
      const waiting: { waiter: Waiter; n: number }[] = [];
      let n = 0;
      /** How often each caller was served while another one waited all the time. */
      const served = new Map<string, number>();
      for (let step = 0; step < 400; step++) {
        if (random() < 0.6) {
          // One caller has ten times as many calls as each of the others.
          const caller = random() < 0.7 ? "greedy" : `c${Math.floor(random() * 4)}`;
          const waiter = new Waiter(caller, []);
          if (queue.enter(waiter, 1000, 0)) waiting.push({ waiter, n: n++ });
        } else if (random() < 0.2 && waiting.length > 0) {
          const [left] = waiting.splice(Math.floor(random() * waiting.length), 1);
          left?.waiter.leave();
          // Who comes back begins anew.
          if (!waiting.some((it) => it.waiter.caller === left?.waiter.caller)) {
            served.delete(left?.waiter.caller ?? "");
          }
        } else {
          const callers = new Set(waiting.map((it) => it.waiter.caller));
          const next = queue.shift();
          expect(next === undefined).toBe(waiting.length === 0);
          if (!next) continue;
          const own = waiting.filter((it) => it.waiter.caller === next.caller);
          expect(own[0]?.waiter).toBe(next);
          waiting.splice(waiting.indexOf(own[0] as (typeof own)[0]), 1);
          for (const caller of callers) {
            if (caller === next.caller) served.delete(caller);
            else {
              const passed = (served.get(caller) ?? 0) + 1;
              served.set(caller, passed);
              // Nobody waits for more than one call of each of the others.
              expect(passed).toBeLessThanOrEqual(4);
            }
          }
        }
        expect(queue.size).toBe(waiting.length);
      }
    }
  });
  it("has each call once", () => {
    const queue = new FairQueue();
    const waiter = new Waiter("a", []);
    for (let i = 0; i < 2; i++) expect(queue.enter(waiter, 1, 0)).toBe(true);
    expect([queue.size, queue.shift(), queue.size]).toEqual([1, waiter, 0]);
  });
  it("knows each one's place", () => {
    const queue = new FairQueue();
    const enter = (caller: string) => {
      const waiter = new Waiter(caller, []);
      queue.enter(waiter, 100, 0);
      return waiter;
    };
    const all = ["a", "a", "a", "b", "c", "b"].map(enter);
    const places = all.map((waiter) => waiter.position());
    const order = new Map<Waiter, number>();
    for (let i = 0; i < all.length; i++) order.set(queue.shift() as Waiter, i);
    expect(places).toEqual(all.map((waiter) => order.get(waiter)));
    expect(places).toEqual([0, 3, 5, 1, 2, 4]);
  });
  it("is bounded; who has most waiting makes room for who has less", async () => {
    const queue = new FairQueue();
    const greedy = Array.from({ length: 3 }, () => new Waiter("greedy", []));
    for (const waiter of greedy) expect(queue.enter(waiter, 3, 0)).toBe(true);
    expect(queue.enter(new Waiter("greedy", []), 3, 0)).toBe(false);
    expect(queue.enter(new Waiter("modest", []), 3, 0)).toBe(true);
    await expect(greedy[2]?.place).rejects.toMatchObject({ code: "rate_limited" });
    expect(queue.enter(new Waiter("modest", []), 3, 0)).toBe(false);
    expect(queue.size).toBe(3);
  });
  it("takes no place from a call that has begun, and rather the last but one", async () => {
    const queue = new FairQueue();
    const begun = () => new Waiter("greedy", [], Number.POSITIVE_INFINITY, undefined, true);
    const waits = new Waiter("greedy", []);
    for (const waiter of [begun(), waits, begun()]) queue.enter(waiter, 3, 0);
    expect(queue.enter(new Waiter("modest", []), 3, 0)).toBe(true);
    await expect(waits.place).rejects.toMatchObject({ code: "rate_limited" });
    expect(queue.enter(new Waiter("third", []), 3, 0)).toBe(false);
    expect(queue.size).toBe(3);
  });
});

describe("the time of day", () => {
  it("is right again once the process's clock is, which a test had set ahead", () => {
    const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 600_000);
    systemClock.wall(performance.now());
    clock.mockRestore();
    const off = systemClock.wall(performance.now()) - Date.now();
    expect(Math.abs(off)).toBeLessThan(60_000);
  });
});
