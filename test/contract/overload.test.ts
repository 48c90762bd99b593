/** More calls than model servers can take, and none that can take any, seen through every door. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { echo } from "../backends/openai-subject.js";
import type { Script } from "../backends/upstream.js";
import { answers, Theatre } from "./theatre.js";
import { expectError, ways } from "./ways.js";

/** Answers nobody before it is told to. */
class Held {
  release = () => {};
  readonly #released = new Promise<void>((resolve) => {
    this.release = resolve;
  });
  readonly script: Script = async (exchange) => {
    await Promise.race([this.#released, exchange.gone]);
    await echo(exchange);
  };
}

const said = expect.stringMatching(/^you said Hello ?$/);

describe.each(ways)("$name", (way) => {
  const held = new Held();
  const theatre = new Theatre();
  beforeAll(() =>
    theatre.open(
      { full: [held.script], out: [answers(503), answers(503)] },
      [
        { name: "full", maxInFlight: 1 },
        { name: "out", targets: [0, 1].map((i) => ({ backend: `out ${i}` })) },
      ],
      { queue: { size: 1 }, health: { failures: 1, firstPauseMs: 3_600_000 } },
    ),
  );
  afterAll(() => theatre.close());
  const ask = (model: string) => way.ask(theatre.lintel.url, { model });
  const waiting = () =>
    theatre.lintel.core.routing.snapshot().endpoints.find(({ model }) => model === "full")?.waiting;

  it("a full target makes calls wait, and a full queue refuses them at once", async () => {
    const runs = ask("full");
    await theatre.servers("full")[0]?.received(1);
    const waits = ask("full");
    await expect.poll(waiting).toBe(1);
    const refused = await ask("full");
    expectError(refused, way, "overloaded", false);
    expect(refused.retryAfter).toBeGreaterThanOrEqual(1);
    expect(refused.attempts).toBeUndefined();
    expect(theatre.asked("full")).toEqual([1]);
    held.release();
    expect(await runs).toMatchObject({ text: said, attempts: 1 });
    expect(await waits).toMatchObject({ text: said, attempts: 1 });
  });

  it("all targets out: refused at once, with the time after which one is tried", async () => {
    const failed = await ask("out");
    expectError(failed, way, "unavailable", false);
    expect(failed.attempts).toBe(2);
    expect(failed.retryAfter).toBeGreaterThanOrEqual(1);
    const refused = await ask("out");
    expectError(refused, way, "unavailable", false);
    // The pause is shortened by chance, by a fifth at most.
    expect(refused.retryAfter).toBeGreaterThan(2000);
    expect(refused.retryAfter).toBeLessThanOrEqual(3600);
    expect(theatre.asked("out")).toEqual([1, 1]);
  });
});

describe.each(ways)("$name", (way) => {
  const held = new Held();
  const theatre = new Theatre();
  beforeAll(() =>
    theatre.open({ full: [held.script] }, [{ name: "full", maxInFlight: 1 }], {
      queue: { timeoutMs: 20 },
    }),
  );
  afterAll(() => theatre.close());

  it("nobody waits longer than the queue's time", async () => {
    const runs = way.ask(theatre.lintel.url, { model: "full" });
    await theatre.servers("full")[0]?.received(1);
    const refused = await way.ask(theatre.lintel.url, { model: "full" });
    expectError(refused, way, "unavailable", false);
    expect(refused.retryAfter).toBeGreaterThanOrEqual(1);
    held.release();
    expect(await runs).toMatchObject({ text: said });
  });
});
