/** What `lintel top` is told of a gateway. */
import { expect, test } from "vitest";
import { telemetryOf } from "./support.js";

const retries = { requests: 5, retries: 2, denied: 1 };
const lastReload = { successful: false, restart: 2 };

/** The status of a gateway whose stores and issuers are all there, or all away. */
async function statusOf(away: boolean, names: readonly string[]) {
  const open = await telemetryOf({ status: true });
  const outages = 0;
  const all = {
    limits: {
      state: { kind: "redis" as const, available: !away, outages, decidedWithout: 0 },
    },
    ...{ answers: { away, outages }, cache: { away, outages }, images: { away, outages } },
    tokens: { away, outages },
    usage: {
      ...{ away, outages, unwritten: 0, lostTotal: 0, waitingBytes: 0, mostWaitingBytes: 1 },
    },
    issuers: () => [
      { name: "corp", away },
      { name: "other", away: false },
    ],
  };
  open.observe({
    running: () => 3,
    routing: () => ({ endpoints: [], mirrors: [], retries }),
    lastReload: () => lastReload,
    ...Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name))),
  });
  return open.status?.();
}

test("of budgets the twenty that are nearest to their end, and none where there are none", async () => {
  const open = await telemetryOf({ status: true });
  const sources = {
    running: () => 0,
    routing: () => ({ endpoints: [], mirrors: [], retries }),
  };
  open.observe(sources);
  expect(open.status?.().budgets).toEqual([]);
  const budgets = Array.from({ length: 25 }, (_, i) => ({
    ...{ scope: "caller" as const, name: `c${i}`, period: "day" as const },
    ...{ amount: 50, used: i, ratio: i / 50 },
  }));
  open.observe({ ...sources, budgets: () => budgets });
  const told = open.status?.().budgets?.map(({ name }) => name);
  expect(told).toEqual(Array.from({ length: 20 }, (_, i) => `c${24 - i}`));
  expect(budgets[0]?.name).toBe("c0");
});

const names = ["limits", "answers", "cache", "images", "tokens", "usage", "issuers"];

test.each(names)("of %s whether they are away, and of nothing else", async (name) => {
  const told = name === "issuers" ? "issuer corp" : name;
  expect((await statusOf(true, [name]))?.away).toEqual([told]);
  expect((await statusOf(false, [name]))?.away).toEqual([]);
});

test("what it is, what runs, and how its last reload went", async () => {
  expect(await statusOf(true, names)).toMatchObject({
    ...{ version: "1.2.3", pid: process.pid, gateway: process.pid, running: 3 },
    ...{ models: [], targets: [], mirrors: [], retries, lastReload },
    away: [...names.slice(0, -1), "issuer corp"],
    uptime: expect.any(Number),
  });
  expect((await statusOf(true, []))?.away).toEqual([]);
});
