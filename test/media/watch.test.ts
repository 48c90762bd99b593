/** The watch over a place for images: when it asks whether it is back, and what it calls a bucket's trouble. */
import { describe, expect, test } from "vitest";
import { silent } from "../../src/core/log.js";
import { BucketError } from "../../src/media/bucket.js";
import { StoreWatch } from "../../src/media/watch.js";
import { FakeClock, settled } from "../support/clock.js";

const failing = (httpStatusCode?: number, more: object = {}) =>
  Object.assign(new Error("As it is."), { name: "Code", $metadata: { httpStatusCode }, ...more });

/** A watch whose probes fail as they are told to. */
function watched() {
  const clock = new FakeClock();
  const state: { failure?: Error | undefined; probes: number } = {
    failure: failing(503),
    probes: 0,
  };
  const probe = async () => {
    state.probes++;
    if (state.failure) throw state.failure;
  };
  return { clock, state, watch: watchOf(probe, clock) };
}

const watchOf = (probe: () => Promise<unknown>, clock: FakeClock, log = silent) =>
  new StoreWatch(
    { place: "bucket", troubleOf: (thrown) => new BucketError(thrown), probe },
    log,
    clock,
  );

describe("a bucket that somebody gave up waiting for", () => {
  const gaveUp = () => Object.assign(new Error("Request aborted"), { name: "AbortError" });

  test("is asked once, however many did, and is away if that fails", async () => {
    const { clock, state, watch } = watched();
    for (let i = 0; i < 3; i++) await watch.ask(() => Promise.reject(gaveUp())).catch(() => {});
    expect([watch.away, clock.timers]).toEqual([false, 1]);
    await clock.advance(1000);
    await settled();
    expect([watch.away, watch.outages, state.probes]).toEqual([true, 1, 1]);
  });

  test("is not asked where somebody was answered since", async () => {
    const { clock, state, watch } = watched();
    watch.failed(gaveUp());
    await watch.ask(async () => {});
    await clock.advance(60_000);
    expect([watch.away, state.probes, clock.timers]).toEqual([false, 0, 0]);
  });

  test("is asked no second time while it does not answer, and is there if others were answered", async () => {
    const clock = new FakeClock();
    let fail = (_: Error) => {};
    let probes = 0;
    const watch = watchOf(() => {
      probes++;
      return new Promise((_, reject) => {
        fail = reject;
      });
    }, clock);
    watch.failed(gaveUp());
    await clock.advance(1000);
    watch.failed(gaveUp());
    await clock.advance(60_000);
    expect([probes, clock.timers]).toEqual([1, 0]);
    await watch.ask(async () => {});
    fail(failing(503));
    await settled();
    expect([watch.away, watch.outages]).toEqual([false, 0]);
  });
});

describe("a bucket that failed", () => {
  test("is asked again ever more seldom, and anew from the start after it was back", async () => {
    const { clock, state, watch } = watched();
    const outage = async () => {
      watch.failed(failing(503));
      for (const ms of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
        const { probes } = state;
        await clock.advance(ms - 1);
        expect(state.probes).toBe(probes);
        await clock.advance(1);
        expect(state.probes).toBe(probes + 1);
      }
    };
    await outage();
    state.failure = undefined;
    await clock.advance(30_000);
    expect([watch.away, watch.outages, clock.timers]).toEqual([false, 1, 0]);
    state.failure = failing(503);
    await outage();
    expect([watch.away, watch.outages]).toEqual([true, 2]);
  });

  test.each([
    [403, 0],
    [404, 0],
    [429, 1],
    [500, 1],
    [undefined, 1],
  ])("with the status %s is asked again %d times", async (status, times) => {
    const { clock, state, watch } = watched();
    watch.failed(failing(status));
    await clock.advance(1000);
    expect([watch.away, state.probes]).toEqual([true, times]);
  });

  test("is back where a call is answered while it is asked", async () => {
    const clock = new FakeClock();
    let fail = (_: Error) => {};
    const asking = new Promise((_, reject) => {
      fail = reject;
    });
    const watch = watchOf(() => asking, clock);
    watch.failed(failing(503));
    await clock.advance(1000);
    await watch.ask(async () => {});
    fail(failing(503));
    await settled();
    expect([watch.away, watch.outages]).toEqual([false, 1]);
  });

  test("is told to be back only where it was told to be away, which is once a minute", async () => {
    const clock = new FakeClock();
    const said: string[] = [];
    const say = (_: object, words: string) => void said.push(words);
    const watch = watchOf(async () => {}, clock, { ...silent, info: say, warn: say });
    const told = ["the bucket of images is away", "the bucket of images is back"];
    for (const passed of [told, told, [...told, ...told]]) {
      watch.failed(failing(503));
      await watch.ask(async () => {});
      expect(said).toEqual(passed);
      await clock.advance(30_000);
    }
  });

  test("is told of anew where it fails in another way, once a minute", async () => {
    const clock = new FakeClock();
    const reasons: unknown[] = [];
    const warn = ({ reason }: { reason?: unknown }) => void reasons.push(reason);
    const watch = watchOf(() => new Promise(() => {}), clock, { ...silent, warn });
    for (const [status, message] of [
      [503, "Request 1."],
      [503, "Request 2."],
      [403, "Request 3."],
    ] as const) {
      watch.failed(failing(status, { message }));
      await clock.advance(60_000);
    }
    expect(reasons).toEqual([
      expect.stringContaining("status 503, Code: Request 1."),
      expect.stringContaining("status 403, Code: Request 3."),
    ]);
  });

  test("is asked for nothing once a call was answered", async () => {
    const { clock, state, watch } = watched();
    watch.failed(failing(503));
    expect(clock.timers).toBe(1);
    await watch.ask(async () => {});
    await clock.advance(60_000);
    expect([watch.away, state.probes, clock.timers]).toEqual([false, 0, 0]);
  });

  test("is asked no more after the end, which is no outage either", async () => {
    const away = watched();
    away.watch.failed(failing(503));
    away.watch.close();
    expect(away.clock.timers).toBe(0);
    const { clock, watch } = watched();
    watch.close();
    expect(watch.failed(failing(503))).toBeInstanceOf(BucketError);
    expect([watch.away, watch.outages, clock.timers]).toEqual([false, 0, 0]);
    watch.failed(Object.assign(new Error("given up"), { name: "AbortError" }));
    expect(clock.timers).toBe(0);
  });

  test("is not one of which something was given up here", () => {
    const { watch } = watched();
    const given = Object.assign(new Error("given up"), { name: "AbortError" });
    expect(watch.failed(given)).toBe(given);
    expect(watch.away).toBe(false);
  });
});

test.each([
  ["Unknown", "UnknownError"],
  ["Forbidden", "Forbidden"],
])(
  "of an answer without a body, of which the SDK says %s, there is its status alone",
  (name, message) => {
    expect(new BucketError(failing(403, { name, message })).message).toBe("status 403");
  },
);

test.each([
  ["<html><body><h1>502</h1>\n<p>Bad gateway</p></body></html>", "502 Bad gateway"],
  [`<p>${"long ".repeat(100)}</p>`, "long ".repeat(60)],
])("of an answer that is no store's the log has how it begins, without tags: %s", (body, words) => {
  const thrown = failing(502, { name: "Error", $response: { body } });
  expect(new BucketError(thrown).message).toBe(`status 502, no XML: ${words}`);
});

test("a connection that was ended is not one on which no answer came in time", () => {
  const timeout = { name: "TimeoutError", message: "socket hang up" };
  expect(new BucketError(failing(undefined, timeout)).message).toBe("no answer in time");
  const ended = { ...timeout, code: "ECONNRESET" };
  expect(new BucketError(failing(undefined, ended)).message).toBe("socket hang up");
});

test.each([301, 307, 400])("a status %d that tells of another region names it", (status) => {
  const $response = { headers: { "x-amz-bucket-region": "eu-west-1" } };
  expect(new BucketError(failing(status, { $response })).message).toBe(
    `status ${status}, Code: As it is., media.s3.region should be eu-west-1`,
  );
  expect(new BucketError(failing(403, { $response })).message).toBe("status 403, Code: As it is.");
});
