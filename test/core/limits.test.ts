/** Limits around the real core: what counts, how much of it, and what callers hear. */

import { describe, expect, it } from "vitest";
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import type { Call, Caller } from "../../src/core/call.js";
import type { Core } from "../../src/core/core.js";
import { LintelError } from "../../src/core/errors.js";
import { durationText } from "../../src/core/limits/headers.js";
import { usedCounters } from "../../src/core/limits/history.js";
import { periodAt } from "../../src/core/limits/period.js";
import { costOf, priceOf } from "../../src/core/limits/prices.js";
import type { CallerLimits, LimitSettings, Price } from "../../src/core/limits/settings.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { outcome as outcomeOf, start } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { chatModel, imageModel } from "../support/models.js";
import { breaksAfter, hangsAfter, paints, says, scripted } from "../support/scripted.js";

const noon = Date.UTC(2026, 0, 15, 12);

/** A core with limits, whose time stands still unless `clock.now` is moved. */
function limited(
  settings: Partial<LimitSettings>,
  more: {
    prices?: readonly Price[];
    handlers?: Parameters<typeof scripted>[0];
    callers?: Record<string, CallerLimits>;
    models?: readonly ModelSettings[];
    served?: readonly Model[];
  } = {},
) {
  const clock = { now: noon };
  const store = memoryLimits({ clock: () => clock.now });
  const served = more.served ?? [chatModel("chat-1"), chatModel("chat-2"), imageModel("image-1")];
  const backend = scripted(
    more.handlers ?? { chat: says("a", "b", "c"), streamTextToImage: paints(1) },
    served,
  );
  const { callers, models = [] } = more;
  const find = (token: string): Caller => ({ id: token, limits: callers?.[token] });
  const auth = callers && { auth: { mode: "token", tokens: [] } as const };
  const core = coreOf(
    [backend],
    { ...auth, models },
    {
      limits: { settings: { models: [], ...settings }, prices: more.prices ?? [], store },
      ...(callers && { callers: [{ find }] }),
    },
  );
  return { core, clock, backend, store };
}

const chat = { messages: [{ role: "user", content: "four tokens long" }] };
const draw = { prompt: "a lintel" };

type Method = "chat" | "complete" | "textToImage" | "streamTextToImage";

/** What a call of a caller came to. */
const outcome = (core: Core, method: Method, request: object, credential = "me") =>
  outcomeOf(core, method, request, { credential });

describe("requests per minute", () => {
  it.each([
    ["the caller", { caller: { requestsPerMinute: 2 } }, "2 requests per minute for this caller"],
    [
      "the model",
      { models: [{ model: "chat-1", requestsPerMinute: 2 }] },
      '2 requests per minute for the model "chat-1"',
    ],
    [
      "models of a pattern",
      { models: [{ model: "chat-*", requestsPerMinute: 2 }] },
      '2 requests per minute for the models "chat-*"',
    ],
    [
      "models of a pattern that begins with anything",
      { models: [{ model: "*-1", requestsPerMinute: 2 }] },
      '2 requests per minute for the models "*-1"',
    ],
    ["all", { global: { requestsPerMinute: 2 } }, "2 requests per minute for this gateway"],
  ])("of %s are refused with the limit and its scope", async (_, settings, words) => {
    const { core, clock, backend } = limited(settings);
    expect((await outcome(core, "chat", { ...chat, model: "chat-1" })).code).toBe("ok");
    clock.now += 20_000;
    expect((await outcome(core, "complete", { ...chat, model: "chat-1" })).code).toBe("ok");
    const { error } = await outcome(core, "chat", { ...chat, model: "chat-1" });
    expect(error).toMatchObject({ code: "rate_limited", retryAfter: 41, http: 429 });
    expect(error?.message).toBe(`limit reached: ${words}; try again in 41 s`);
    expect(backend.asked).toHaveLength(2);
    clock.now += 41_000;
    expect((await outcome(core, "chat", { ...chat, model: "chat-1" })).code).toBe("ok");
  });

  it("are told apart by caller, and counted together by model and in all", async () => {
    const { core } = limited({
      caller: { requestsPerMinute: 2 },
      models: [{ model: "chat-1", requestsPerMinute: 3 }],
      global: { requestsPerMinute: 5 },
    });
    const ask = async (credential: string, model: string) =>
      (await outcome(core, "chat", { ...chat, model }, credential)).code;
    expect(await ask("a", "chat-1")).toBe("ok");
    expect(await ask("a", "chat-1")).toBe("ok");
    expect(await ask("a", "chat-2")).toBe("rate_limited");
    expect(await ask("b", "chat-1")).toBe("ok");
    expect(await ask("c", "chat-1")).toBe("rate_limited");
    expect(await ask("c", "chat-2")).toBe("ok");
    expect(await ask("d", "chat-2")).toBe("ok");
    expect(await ask("e", "chat-2")).toBe("rate_limited");
  });

  it("are counted under the name that a default stands for", async () => {
    const { core } = limited({ models: [{ model: "chat-1", requestsPerMinute: 1 }] });
    expect((await outcome(core, "chat", chat)).code).toBe("ok");
    expect((await outcome(core, "chat", { ...chat, model: "chat-1" })).code).toBe("rate_limited");
  });

  it("do not count what is refused before, nor lists of models", async () => {
    const { core } = limited({ caller: { requestsPerMinute: 1 } });
    expect((await outcome(core, "chat", { messages: [] })).code).toBe("invalid_fields");
    expect((await outcome(core, "chat", { ...chat, model: "none" })).code).toBe("model_not_found");
    for (let i = 0; i < 3; i++) await run(core, "listModels", {});
    expect((await outcome(core, "chat", chat)).code).toBe("ok");
    expect((await outcome(core, "chat", chat)).code).toBe("rate_limited");
  });

  it("let exactly 600 of 1000 through", async () => {
    const { core, backend } = limited({ caller: { requestsPerMinute: 600 } });
    const codes = await Promise.all(
      Array.from({ length: 1000 }, async () => (await outcome(core, "chat", chat)).code),
    );
    expect(codes.filter((code) => code === "ok")).toHaveLength(600);
    expect(backend.asked).toHaveLength(600);
  });
});

describe("a caller's own limits", () => {
  it("replace those of every caller, one by one", async () => {
    const callers = {
      strict: { requestsPerMinute: 1 },
      free: { requestsPerMinute: Number.POSITIVE_INFINITY, imagesPerDay: 1 },
      plain: {},
    };
    const { core } = limited({ caller: { requestsPerMinute: 2, imagesPerDay: 2 } }, { callers });
    const passed = async (who: string, method: "chat" | "textToImage", request: object) => {
      let n = 0;
      while (n < 4 && (await outcome(core, method, request, who)).code === "ok") n++;
      return n;
    };
    expect(await passed("strict", "chat", chat)).toBe(1);
    expect(await passed("plain", "chat", chat)).toBe(2);
    expect(await passed("free", "chat", chat)).toBe(4);
    expect(await passed("free", "textToImage", draw)).toBe(1);
  });
});

describe("tokens per minute", () => {
  const tokens = (tokensPerMinute: number) => ({ caller: { tokensPerMinute } });
  const remaining = async (core: Core) => {
    const { metadata } = await outcome(core, "chat", { ...chat, maxTokens: 1 });
    return Number(metadata.get("x-ratelimit-remaining-tokens"));
  };

  it("are reserved by the prompt and max_tokens, and settled by what it took", async () => {
    const { core } = limited(tokens(1000));
    // The prompt is estimated at 8, and the model reports 7 + 3.
    const first = await outcome(core, "chat", { ...chat, maxTokens: 500 });
    expect(first.metadata.get("x-ratelimit-remaining-tokens")).toBe("492");
    expect(first.metadata.get("x-ratelimit-limit-tokens")).toBe("1000");
    expect(await remaining(core)).toBe(1000 - 10 - 9);
  });

  it("count the default of max_tokens, and no more than the model's cap", async () => {
    const { core } = limited(tokens(1000));
    const { metadata } = await outcome(core, "chat", chat);
    expect(metadata.get("x-ratelimit-remaining-tokens")).toBe(String(1000 - 8 - 256));
  });

  it.each<[string, Partial<ModelSettings>, number | undefined, number]>([
    ["the operator's default where 256 was sent", { defaults: { max_tokens: 600 } }, 256, 600],
    ["the operator's default where nothing was", { defaults: { max_tokens: 600 } }, undefined, 600],
    ["a default up to the cap", { defaults: { max_tokens: 600 }, maxTokens: 500 }, undefined, 500],
    ["what the caller set", { defaults: { max_tokens: 600 } }, 20, 20],
  ])("reserve what the model is asked for: %s", async (_, entry, maxTokens, reserved) => {
    const models = [{ name: "chat-1", ...entry }];
    const { core, backend } = limited(tokens(1000), { models });
    const { metadata } = await outcome(core, "chat", { ...chat, model: "chat-1", maxTokens });
    expect(backend.asked[0]).toMatchObject({ maxTokens: reserved });
    expect(metadata.get("x-ratelimit-remaining-tokens")).toBe(String(1000 - 8 - reserved));
  });

  it("reserve the most that any target of the model may be asked for", async () => {
    const targets = [{ backend: "scripted" }, { backend: "scripted", model: "chat-2" }];
    const models = [{ name: "both", targets, defaults: { max_tokens: 600 } }];
    const { core } = limited(tokens(1000), {
      models,
      served: [chatModel("both", { maxTokens: 100 }), chatModel("chat-2")],
    });
    const { metadata } = await outcome(core, "chat", { ...chat, model: "both" });
    expect(metadata.get("x-ratelimit-remaining-tokens")).toBe(String(1000 - 8 - 600));
  });

  it("are given back where the model server failed", async () => {
    const failing = {
      chat: breaksAfter(new LintelError("invalid_value", "no")),
    };
    const { core } = limited(tokens(1000), { handlers: failing });
    expect((await outcome(core, "chat", { ...chat, maxTokens: 900 })).code).toBe("invalid_value");
    expect(await remaining(core)).toBe(1000 - 9);
  });

  it("count what was delivered to a caller who left", async () => {
    const { handle, aborted } = hangsAfter("four tokens long");
    const { core } = limited(tokens(1000), { handlers: { chat: handle } });
    const controller = new AbortController();
    const { signal } = controller;
    const running = start(core, "chat", { ...chat, maxTokens: 900 }, { signal });
    const iterator = running.messages[Symbol.asyncIterator]();
    await iterator.next();
    const next = iterator.next();
    controller.abort();
    await expect(next).rejects.toMatchObject({ code: "cancelled" });
    await aborted;
    // 8 of the prompt, 4 of the completion.
    const { metadata } = await outcome(core, "complete", { ...chat, maxTokens: 100_000 });
    expect(metadata.get("x-ratelimit-remaining-tokens")).toBe(String(1000 - 12));
  });

  it("refuse for good what can never fit", async () => {
    const { core } = limited(tokens(100));
    const { error, metadata } = await outcome(core, "chat", { ...chat, maxTokens: 200 });
    expect(error).toMatchObject({ code: "rate_limited", param: "max_tokens" });
    expect(error?.message).toBe(
      "limit reached: this request alone may take more than 100 tokens per minute for this caller; ask for less",
    );
    expect(metadata.get("x-should-retry")).toBe("false");
  });

  it("do not concern images", async () => {
    const { core } = limited(tokens(1));
    const { code, metadata } = await outcome(core, "textToImage", draw);
    expect([code, [...metadata.keys()].filter((key) => key.includes("tokens"))]).toEqual([
      "ok",
      [],
    ]);
  });
});

describe("images per day", () => {
  it("count prompts and images of each, and begin anew at midnight", async () => {
    const { core, clock } = limited({ caller: { imagesPerDay: 5 } });
    const four = { prompt: "a | b", numImagesPerPrompt: 2 };
    expect((await outcome(core, "textToImage", four)).code).toBe("ok");
    const { error, metadata } = await outcome(core, "textToImage", four);
    expect(error?.message).toBe(
      "limit reached: 5 images per day for this caller; try again in 43200 s",
    );
    // A wait that no client's own retry is for.
    expect(metadata.get("x-should-retry")).toBe("false");
    expect((await outcome(core, "textToImage", draw)).code).toBe("ok");
    clock.now += 12 * 3_600_000;
    expect((await outcome(core, "textToImage", four)).code).toBe("ok");
    expect((await outcome(core, "chat", chat)).code).toBe("ok");
  });

  it("count only what was delivered", async () => {
    const failing = {
      async *streamTextToImage(call: Call<"streamTextToImage">) {
        for await (const batch of paints(1)(call)) {
          yield batch;
          if (batch.some(({ event }) => event.case === "image")) {
            throw new LintelError("upstream_failed", "one was enough");
          }
        }
      },
    };
    const { core } = limited({ caller: { imagesPerDay: 4 } }, { handlers: failing });
    const three = { ...draw, numImagesPerPrompt: 3 };
    const code = async (method: Method) => (await outcome(core, method, three)).code;
    // A whole answer that fails delivers nothing.
    expect(await code("textToImage")).toBe("upstream_failed");
    expect(await code("textToImage")).toBe("upstream_failed");
    expect(await code("streamTextToImage")).toBe("upstream_failed");
    expect(await code("streamTextToImage")).toBe("upstream_failed");
    expect(await code("streamTextToImage")).toBe("rate_limited");
  });
});

describe("concurrent calls", () => {
  it("are counted while they run", async () => {
    const { handle } = hangsAfter("a");
    const { core } = limited({ caller: { concurrent: 2 } }, { handlers: { chat: handle } });
    const controllers = [new AbortController(), new AbortController()];
    const running = controllers.map(({ signal }) =>
      run(core, "chat", chat, { signal }).catch((error: LintelError) => error.code),
    );
    const { error } = await outcome(core, "chat", chat);
    expect(error?.message).toBe(
      "limit reached: 2 calls at a time for this caller; try again in 1 s",
    );
    controllers[0]?.abort();
    expect(await running[0]).toBe("cancelled");
    const signal = AbortSignal.abort();
    await expect(run(core, "chat", chat, { signal })).rejects.toMatchObject({ code: "cancelled" });
    const third = new AbortController();
    const next = run(core, "chat", chat, { signal: third.signal }).catch((e) => e.code);
    expect((await outcome(core, "chat", chat)).code).toBe("rate_limited");
    third.abort();
    controllers[1]?.abort();
    expect(await Promise.all([...running, next])).toEqual(["cancelled", "cancelled", "cancelled"]);
  });
});

describe("budgets", () => {
  const prices: Price[] = [
    { model: "chat-1", input: 1000, output: 2000 },
    { model: "image-*", image: 0.25 },
  ];

  it("are spent by the price table, reserved by estimate and settled by what it took", async () => {
    const budget = { amount: 1, period: "month" } as const;
    const { core, clock } = limited({ caller: { budget } }, { prices });
    // Estimated at 8 × 0.001 + 256 × 0.002 = 0.52; it takes 7 × 0.001 + 3 × 0.002 = 0.013.
    let passed = 0;
    while ((await outcome(core, "chat", chat)).code === "ok") passed++;
    expect(passed).toBe(Math.floor((1 - 0.52) / 0.013) + 1);
    const { error } = await outcome(core, "chat", chat);
    expect(error?.message).toContain("limit reached: a budget of 1 per month for this caller");
    // Models without a price go on, and images are dearer than what is left.
    expect((await outcome(core, "chat", { ...chat, model: "chat-2" })).code).toBe("ok");
    const two = { ...draw, numImagesPerPrompt: 2 };
    expect((await outcome(core, "textToImage", two)).code).toBe("ok");
    expect((await outcome(core, "textToImage", draw)).code).toBe("rate_limited");
    clock.now = Date.UTC(2026, 1, 1);
    expect((await outcome(core, "chat", chat)).code).toBe("ok");
  });

  it("that only running calls fill refuse for a moment, and clients may come again", async () => {
    const budget = { amount: 0.6, period: "month" } as const;
    const { handle } = hangsAfter();
    const { core } = limited({ global: { budget } }, { prices, handlers: { chat: handle } });
    const leaving = new AbortController();
    const stranger = run(core, "chat", chat, { signal: leaving.signal }).catch((e) => e.code);
    const { error, metadata } = await outcome(core, "chat", chat, "another");
    expect(error).toMatchObject({ code: "rate_limited", retryAfter: 2 });
    expect(metadata.has("x-should-retry")).toBe(false);
    leaving.abort();
    expect(await stranger).toBe("cancelled");
  });

  it("of nothing allow nothing that has a price", async () => {
    const budget = { amount: 0, period: "day" } as const;
    const { core } = limited({ caller: { budget } }, { prices });
    expect((await outcome(core, "chat", chat)).code).toBe("rate_limited");
    expect((await outcome(core, "chat", { ...chat, model: "chat-2" })).code).toBe("ok");
  });

  it("are exact to the billionth", () => {
    const price = { model: "m", input: 0.15, output: 0.6, image: 0.04 };
    expect(costOf(price, { promptTokens: 1, completionTokens: 1 })).toBe(750);
    expect(costOf(price, { images: 3 })).toBe(120_000_000);
    expect(priceOf([{ model: "gpt-4*" }, { model: "*", input: 1 }], "gpt-4o")?.model).toBe(
      "gpt-4*",
    );
    expect(priceOf([{ model: "gpt-4" }], "gpt-4o")).toBeUndefined();
  });
});

describe("what callers are told", () => {
  it("is the tightest limit of requests and of tokens", async () => {
    const { core } = limited({
      caller: { requestsPerMinute: 100, tokensPerMinute: 5000 },
      global: { requestsPerMinute: 3, tokensPerMinute: 10_000 },
    });
    const { metadata } = await outcome(core, "chat", chat);
    expect(Object.fromEntries(metadata)).toMatchObject({
      "x-ratelimit-limit-requests": "3",
      "x-ratelimit-remaining-requests": "2",
      "x-ratelimit-reset-requests": "1m1s",
      "x-ratelimit-limit-tokens": "5000",
      "x-ratelimit-remaining-tokens": String(5000 - 264),
      "x-ratelimit-reset-tokens": "1m1s",
    });
  });

  it("is also told with a refusal", async () => {
    const { core } = limited({ caller: { requestsPerMinute: 1 } });
    await outcome(core, "chat", chat);
    const { metadata } = await outcome(core, "chat", chat);
    expect(metadata.get("x-ratelimit-remaining-requests")).toBe("0");
    expect(metadata.has("x-should-retry")).toBe(true);
  });

  it("is nothing where nothing is limited", async () => {
    const { core } = limited({ models: [{ model: "chat-2", requestsPerMinute: 1 }] });
    const { metadata } = await outcome(core, "chat", chat);
    expect([...metadata.keys()].filter((key) => key.startsWith("x-ratelimit"))).toEqual([]);
  });

  it("has durations in the form of OpenAI", () => {
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

it("goes on with what usage says was used before", async () => {
  const row = { calls: 1, promptTokens: 0, completionTokens: 0 };
  const today = [{ ...row, caller: "a", model: "image-1", images: 3, spend: 4 }];
  const before = [{ ...row, caller: "b", model: "chat-1", images: 0, spend: 10 }];
  const history = {
    since: async (time: number) => (time >= Date.UTC(2026, 0, 15) ? today : [...today, ...before]),
  };
  const day = Date.UTC(2026, 0, 15);
  const month = Date.UTC(2026, 0, 1);
  const settings: LimitSettings = {
    caller: { imagesPerDay: 5 },
    global: { budget: { amount: 1, period: "month" } },
    models: [{ model: "image-*", imagesPerDay: 10, requestsPerMinute: 1 }],
  };
  expect(await usedCounters(history, settings, false, noon)).toEqual([
    { key: "caller:a:images", period: "day", start: day, used: 3 },
    { key: "model:image-*:images", period: "day", start: day, used: 3 },
    { key: "global:spend-month", period: "month", start: month, used: 14 },
  ]);
  // Callers with limits of their own may have a budget of any period.
  const all = await usedCounters(history, { models: [] }, true, noon);
  expect(all.map(({ key }) => key)).toEqual([
    "caller:a:spend-hour",
    "caller:a:images",
    "caller:a:spend-day",
    "caller:a:spend-week",
    "caller:b:spend-week",
    "caller:a:spend-month",
    "caller:b:spend-month",
  ]);
});
