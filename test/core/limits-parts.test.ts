/** What limits are made of: periods, prices, what was used before, and how waits are written. */
import { expect, it } from "vitest";
import { scopes } from "../../src/core/limits/counters.js";
import { durationText } from "../../src/core/limits/headers.js";
import {
  type PastLimits,
  pastScopes,
  type UsedCounter,
  usedCounters,
} from "../../src/core/limits/history.js";
import { periodAt } from "../../src/core/limits/period.js";
import { costOf, priceOf, type Served } from "../../src/core/limits/prices.js";
import type { LimitSettings, Price } from "../../src/core/limits/settings.js";
import type { UsageHistory } from "../../src/core/usage/history.js";
import { noon } from "../support/limits.js";

it("counts budgets to the billionth", () => {
  const price = { model: "m", input: 0.15, output: 0.6, image: 0.04 };
  expect(costOf(price, { promptTokens: 1, completionTokens: 1 })).toBe(750);
  expect(costOf(price, { images: 3 })).toBe(120_000_000);
  // Stores count whole ones.
  expect(costOf({ model: "m", input: 0.0375 }, { promptTokens: 1 })).toBe(38);
  expect(costOf({ model: "m", output: 1.1 }, { completionTokens: 3 })).toBe(3300);
  // What is kept for an hour has the price of all that is written, where it has none of its own.
  const written = { promptTokens: 3, cacheWriteTokens: 3, cacheWrite1hTokens: 2 };
  expect(costOf({ model: "m", input: 1 }, written)).toBe(3000);
  expect(costOf({ model: "m", input: 1, cacheWriteInput: 2 }, written)).toBe(6000);
  expect(costOf({ model: "m", input: 1, cacheWrite1hInput: 4 }, written)).toBe(9000);
});

it("finds the first price that fits", () => {
  const free: Price = { model: "free" };
  const first = (prices: Price[], served: Served = {}, model = "chat") =>
    prices.indexOf(priceOf(prices, model, served) ?? free);
  expect(first([{ model: "gpt-4*" }, { model: "*", input: 1 }], {}, "gpt-4o")).toBe(0);
  expect(first([{ model: "gpt-4" }], {}, "gpt-4o")).toBe(-1);
  const prices: Price[] = [
    { model: "chat", target: { backend: "cloud", model: "big*" }, promptAbove: 1000 },
    { model: "chat", target: { backend: "cloud", model: "big*" } },
    { model: "chat", target: { model: "small" } },
    { model: "chat", target: { backend: "cloud" } },
    { model: "chat", promptAbove: 2000 },
  ];
  const big = { backend: "cloud", backendModel: "big-1" };
  expect(first(prices, { ...big, promptTokens: 1001 })).toBe(0);
  expect(first(prices, { ...big, promptTokens: 1000 })).toBe(1);
  expect(first(prices, big)).toBe(1);
  expect(first(prices, { backend: "own", backendModel: "small" })).toBe(2);
  expect(first(prices, { backend: "cloud", backendModel: "other" })).toBe(3);
  expect(first(prices, { backend: "own", backendModel: "big-1", promptTokens: 2001 })).toBe(4);
  // Nobody was asked.
  expect(first(prices)).toBe(-1);
  expect(first([{ model: "chat", promptAbove: 0 }])).toBe(-1);
});

it("writes durations in the form of OpenAI", () => {
  const texts = [0, 20, 999, 1000, 7500, 59_940, 60_000, 61_000, 3_600_000, 86_399_950];
  expect(texts.map(durationText)).toEqual([
    "0ms",
    "20ms",
    "999ms",
    "1s",
    "7.5s",
    "1m0s",
    "1m0s",
    "1m1s",
    "1h0m0s",
    "24h0m0s",
  ]);
});

it("finds the calendar's periods", () => {
  const at = (text: string) => Date.parse(`${text}Z`);
  const now = at("2028-02-29T13:14:15");
  const period = (start: string, end: string) => ({ start: at(start), end: at(end) });
  expect(periodAt("hour", now)).toEqual(period("2028-02-29T13:00", "2028-02-29T14:00"));
  expect(periodAt("day", now)).toEqual(period("2028-02-29T00:00", "2028-03-01T00:00"));
  expect(periodAt("week", now)).toEqual(period("2028-02-28T00:00", "2028-03-06T00:00"));
  expect(periodAt("month", now)).toEqual(period("2028-02-01T00:00", "2028-03-01T00:00"));
  expect(periodAt("month", at("2027-12-31T23:59"))).toEqual(
    period("2027-12-01T00:00", "2028-01-01T00:00"),
  );
});

async function usedBy(history: UsageHistory, counting: PastLimits): Promise<UsedCounter[]> {
  const used: UsedCounter[] = [];
  for await (const some of usedCounters(history, pastScopes(counting), noon)) used.push(...some);
  return used;
}

it("goes on with what usage says was used before", async () => {
  const row = { calls: 1, promptTokens: 0, completionTokens: 0 };
  const today = [{ ...row, caller: "a", model: "image-1", images: 3, spend: 4 }];
  const before = [{ ...row, caller: "b", model: "chat-1", images: 0, spend: 10 }];
  const history = {
    between: async (from: number, until: number) => {
      expect(until).toBe(noon);
      return from >= Date.UTC(2026, 0, 15) ? today : [...today, ...before];
    },
    ofUsers: async () => [],
    limited: async () => ["b"],
  };
  const day = Date.UTC(2026, 0, 15);
  const month = Date.UTC(2026, 0, 1);
  const settings: LimitSettings = {
    caller: { imagesPerDay: 5 },
    global: { budget: { amount: 1, period: "month" } },
    models: [{ model: "image-*", imagesPerDay: 10, requestsPerMinute: 1 }],
  };
  expect(await usedBy(history, { limits: settings, callersOwn: false })).toEqual([
    { key: "caller:a:images", period: "day", start: day, used: 3 },
    { key: "model:image-*:images", period: "day", start: day, used: 3 },
    { key: "global:spend-month", period: "month", start: month, used: 14 },
  ]);
  const budget = { amount: Number.POSITIVE_INFINITY, period: "month" } as const;
  const limits = { caller: { imagesPerDay: 5 }, global: { budget }, models: [] };
  // Callers with limits of their own may have a budget of any period; others have no counters for one.
  const own = [
    { of: "callers", name: "a", limits: { budget: { amount: 1, period: "day" } } },
  ] as const;
  const all = await usedBy(history, { limits, callersOwn: true, ofCallers: own });
  expect(all.map(({ key }) => key)).toEqual([
    "caller:a:images",
    "caller:a:spend-day",
    "caller:b:spend-week",
    "caller:b:spend-month",
    "caller:b:spend-lifetime",
  ]);
  expect(all).toContainEqual({ key: "caller:a:images", period: "day", start: day, used: 3 });
});

it("asks of end users only for those who may have a limit of their caller's or its team's", async () => {
  const asked: unknown[] = [];
  const history: UsageHistory = {
    between: async () => [],
    limited: async () => [],
    ofUsers: async (quantity, from, _until, of) => {
      asked.push([quantity, from === 0 ? "lifetime" : "period", of]);
      return [];
    },
  };
  const budget = { amount: 1, period: "lifetime" } as const;
  const limits: LimitSettings = { models: [], user: { imagesPerDay: 5 } };
  const ofUsers = [
    { of: "callers", name: "shop", limits: { budget, imagesPerDay: 1 } },
    { of: "issuers", name: "corp", limits: { budget } },
    { of: "teams", name: "red", limits: { budget: { amount: 2, period: "hour" } } },
  ] as const;
  await usedBy(history, { limits, callersOwn: true, ofUsers });
  const nobody = { callers: [], issuers: [], teams: [] };
  expect(asked).toEqual([
    ["spend", "period", { ...nobody, teams: ["red"], stored: "hour" }],
    // Everybody's.
    ["images", "period", undefined],
    ["spend", "period", { ...nobody, stored: "day" }],
    ["spend", "period", { ...nobody, stored: "week" }],
    ["spend", "period", { ...nobody, stored: "month" }],
    ["spend", "lifetime", { ...nobody, callers: ["shop"], issuers: ["corp"], stored: "lifetime" }],
  ]);
});

it("goes on with what usage says end users used before, each of its caller", async () => {
  const asked: unknown[] = [];
  const history = {
    between: async () => {
      throw new Error("nothing else is limited");
    },
    limited: async () => [],
    ofUsers: async (quantity: "images" | "spend", from: number, until: number) => {
      asked.push([quantity, from, until]);
      return [
        { caller: "a", user: "b:c", used: 3 },
        { caller: "a:b", user: "c", used: 2 },
      ];
    },
  };
  const user = { imagesPerDay: 5, budget: { amount: 1, period: "month" }, concurrent: 1 } as const;
  const limits: LimitSettings = { models: [], user };
  const used = await usedBy(history, { limits, callersOwn: false });
  const [one, other] = [scopes.user("a", "b:c"), scopes.user("a:b", "c")];
  const [day, month] = [Date.UTC(2026, 0, 15), Date.UTC(2026, 0, 1)];
  expect(used).toEqual([
    { key: `${one}:images`, period: "day", start: day, used: 3 },
    { key: `${other}:images`, period: "day", start: day, used: 2 },
    { key: `${one}:spend-month`, period: "month", start: month, used: 3 },
    { key: `${other}:spend-month`, period: "month", start: month, used: 2 },
  ]);
  expect(asked).toEqual([
    ["images", day, noon],
    ["spend", month, noon],
  ]);
});
