/** Limits of each end user of each caller. */
import { describe, expect, it } from "vitest";
import type { Core } from "../../src/core/core.js";
import type { LimitSettings } from "../../src/core/limits/settings.js";
import type { LimitStore } from "../../src/core/limits/store.js";
import type { AuthSettings } from "../../src/core/settings.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { MemoryIdempotency } from "../../src/state/idempotency/memory.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { someHit } from "../support/caching.js";
import { outcome as outcomeOf } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { chat, draw, limited, noon, outcome } from "../support/limits.js";
import { hangsAfter, says, scripted } from "../support/scripted.js";

/** What calls came to: `ok`, or the limit that was reached. */
const asking =
  (core: Core) =>
  async (user: string, credential = "me", request: object = chat) => {
    const { code, error } = await outcome(core, "complete", { ...request, user }, credential);
    return error ? error.message.split(";")[0] : code;
  };

const reached = (words: string) => `limit reached: ${words}`;

describe("an end user's limits", () => {
  it("count each user of each caller, and nobody who is not named", async () => {
    const { core, clock } = limited({ user: { requestsPerMinute: 1 } }, { callers: {} });
    const ask = asking(core);
    expect([await ask("u-1"), await ask("u-2"), await ask("u-1", "other")]).toEqual([
      "ok",
      "ok",
      "ok",
    ]);
    const words = reached("1 request per minute for this user");
    expect([await ask("u-1"), await ask("u-1", "other")]).toEqual([words, words]);
    expect([await ask(""), await ask(""), await ask("U-1")]).toEqual(["ok", "ok", "ok"]);
    const { error } = await outcome(core, "chat", { ...chat, user: "u-2" });
    expect(error).toMatchObject({
      code: "rate_limited",
      retryAfter: 61,
      message: `${words}; try again in 61 s`,
    });
    clock.now += 61_000;
    expect(await ask("u-1")).toBe("ok");
  });

  it("hold beside those of callers, teams, models and all, and a refused call is counted against none", async () => {
    const { core } = limited(
      {
        user: { requestsPerMinute: 1 },
        caller: { requestsPerMinute: 2 },
        team: { requestsPerMinute: 3 },
        models: [{ model: "chat-2", requestsPerMinute: 0 }],
        global: { requestsPerMinute: 4 },
      },
      { members: { ann: "red", bob: "red", cat: "blue" } },
    );
    const ask = asking(core);
    expect(await ask("u-1", "ann", { ...chat, model: "chat-2" })).toContain("for the model");
    expect(await ask("u-1", "ann")).toBe("ok");
    for (let i = 0; i < 3; i++) expect(await ask("u-1", "ann")).toContain("for this user");
    expect(await ask("u-2", "ann")).toBe("ok");
    expect(await ask("u-3", "ann")).toContain("2 requests per minute for this caller");
    expect(await ask("u-3", "bob")).toBe("ok");
    expect(await ask("u-4", "bob")).toContain('for the team "red"');
    expect(await ask("u-4", "cat")).toBe("ok");
    expect(await ask("u-5", "cat")).toContain("for this gateway");
  });

  it("are the caller's own before its team's, and these before everybody's, one by one", async () => {
    const { core } = limited(
      {
        user: { requestsPerMinute: 3, tokensPerMinute: 0 },
        teams: [{ team: "red", user: { requestsPerMinute: 2, tokensPerMinute: 100_000 } }],
      },
      {
        callers: {
          ann: { user: { requestsPerMinute: 1 } },
          bob: {},
          cat: { user: { requestsPerMinute: Number.POSITIVE_INFINITY } },
        },
        members: { ann: "red", bob: "red", cat: "red", dan: "blue" },
      },
    );
    const ask = asking(core);
    const calls = async (credential: string) => {
      for (let made = 0; made < 5; made++) {
        const came = await ask("u-1", credential);
        if (came !== "ok") return `${made}: ${came}`;
      }
      return "all";
    };
    expect(await calls("ann")).toBe(`1: ${reached("1 request per minute for this user")}`);
    expect(await calls("bob")).toBe(`2: ${reached("2 requests per minute for this user")}`);
    expect(await calls("cat")).toBe("all");
    // Of no tokens no request can take less.
    expect(await calls("dan")).toBe(`0: ${reached("0 tokens per minute for this user")}`);
  });

  it("are those of a caller's last token, and go on counting", async () => {
    const callers = { me: { user: { requestsPerMinute: 1 } } };
    const { core } = limited({}, { callers });
    const ask = asking(core);
    expect([await ask("u-1"), await ask("u-1")]).toEqual(["ok", expect.stringContaining("1 req")]);
    callers.me = { user: { requestsPerMinute: 2 } };
    expect([await ask("u-1"), await ask("u-1")]).toEqual(["ok", expect.stringContaining("2 req")]);
  });

  it("are of tokens, images, spend and calls at a time, too", async () => {
    const { handle } = hangsAfter("a");
    const settings: Partial<LimitSettings> = {
      user: {
        tokensPerMinute: 300,
        imagesPerDay: 2,
        budget: { amount: 3, period: "day" },
      },
    };
    const prices = [{ model: "image-1", image: 2 }];
    const { core } = limited(settings, { prices });
    const image = (user: string, n: number) =>
      outcome(core, "textToImage", { ...draw, user, numImagesPerPrompt: n });
    expect((await image("u-1", 3)).error?.message).toContain("2 images per day for this user");
    expect((await image("u-1", 1)).code).toBe("ok");
    expect((await image("u-1", 1)).error?.message).toContain("a budget of 3 per day for this user");
    expect((await image("u-2", 1)).code).toBe("ok");
    const most = { ...chat, maxTokens: 301 };
    expect(await asking(core)("u-1", "me", most)).toContain("300 tokens per minute for this user");

    const hanging = limited({ user: { concurrent: 1 } }, { handlers: { chat: handle } }).core;
    const leaving = new AbortController();
    const { signal } = leaving;
    const runs = run(hanging, "chat", { ...chat, user: "u-1" }, { signal }).catch((e) => e.code);
    expect(await asking(hanging)("u-1")).toBe(reached("1 call at a time for this user"));
    leaving.abort();
    expect(await runs).toBe("cancelled");
  });

  it("are told where they are the tightest, and named where they refused", async () => {
    const settings = { caller: { requestsPerMinute: 5 }, user: { requestsPerMinute: 2 } };
    const lines: { refusedBy?: object }[] = [];
    const note = (fields: object) => void lines.push(fields);
    const store = memoryLimits({ clock: () => noon });
    const core = coreOf(
      [scripted({ chat: says("a") })],
      {},
      {
        limits: { settings: { models: [], ...settings }, prices: [], store },
        log: { debug: note, info: note, warn: note, error: note },
      },
    );
    const left = async (user: string) => {
      const { metadata } = await outcome(core, "chat", { ...chat, user });
      const of = (what: string) => metadata.get(`x-ratelimit-${what}-requests`);
      return `${of("remaining")} of ${of("limit")}`;
    };
    expect([await left("u-1"), await left("u-1"), await left("u-1")]).toEqual([
      "1 of 2",
      "0 of 2",
      "0 of 2",
    ]);
    expect(lines.at(-1)?.refusedBy).toEqual({ quantity: "requests", scope: "user" });
    expect([await left(""), await left("u-2"), await left("u-3")]).toEqual([
      "2 of 5",
      "1 of 5",
      "0 of 5",
    ]);
  });

  it("are not mistaken for another's, whatever callers and their users are called", async () => {
    const { core } = limited({ user: { requestsPerMinute: 1 } }, { callers: {} });
    const ask = asking(core);
    const pairs = [
      ["a", "b:c"],
      ["a:b", "c"],
      ["ab", "c"],
      ["a", "bc"],
      ["1:a", "b"],
      ["1", "ab"],
      ["1", ":ab"],
      ["a", "c:requests"],
      ["a:c", "requests"],
      ["a", "🌍".repeat(256)],
      ["a", `${"🌍".repeat(255)}!`],
    ] as const;
    for (const [caller, user] of pairs) expect(await ask(user, caller)).toBe("ok");
    for (const [caller, user] of pairs) expect(await ask(user, caller)).toContain("for this user");
  });

  it("are counted under short names that tell no store who it is", async () => {
    const inner = memoryLimits({ clock: () => noon });
    const keys: string[] = [];
    const store: LimitStore = {
      ...inner,
      state: inner.state,
      reserve(claims) {
        keys.push(...claims.map(({ counter }) => counter.key));
        return inner.reserve(claims);
      },
    };
    const settings = { models: [], user: { requestsPerMinute: 1 } };
    const core = coreOf(
      [scripted({ chat: says("a") })],
      {},
      { limits: { settings, prices: [], store } },
    );
    await outcome(core, "chat", { ...chat, user: "ann@example.com".padEnd(256, "m") });
    expect(keys).toEqual([expect.stringMatching(/^user:[\w-]{43}:requests$/)]);
  });

  it("count neither what is refused before nor what is given again, and count answers that were kept", async () => {
    const idempotency = {
      store: new MemoryIdempotency({ ttlMs: 3_600_000, maxAnswerBytes: 1e6, maxBytes: 1e7 }),
      lingerMs: 0,
    };
    const store = memoryLimits({ clock: () => noon });
    const settings = { models: [], user: { requestsPerMinute: 3 } };
    const core = coreOf(
      [scripted({ chat: says("a") })],
      { cache: { ttlMs: 3_600_000, scope: "caller", maxAnswerBytes: 1000 } },
      { limits: { settings, prices: [], store }, idempotency, cache: memoryCache(1_000_000) },
    );
    const ask = (more: object = {}, idempotencyKey?: string) =>
      outcomeOf(core, "complete", { ...chat, user: "u-1", ...more }, { idempotencyKey });
    expect((await ask({ temperature: 9 })).code).toBe("invalid_fields");
    expect((await ask({ user: "a\nb" })).code).toBe("invalid_fields");
    expect((await ask({}, "k")).code).toBe("ok");
    expect((await ask({}, "k")).metadata.get("idempotent-replayed")).toBe("true");
    expect((await ask()).metadata.get("cache-status")).toEqual(someHit);
    const count = () => outcomeOf(core, "countTokens", { ...chat, user: "u-1" });
    expect([(await count()).code, (await count()).code]).toEqual(["ok", "rate_limited"]);
  });

  it.each<[AuthSettings["mode"], string[]]>([
    ["public", ["ok", "ok", "rate_limited", "rate_limited"]],
    // Everybody is one caller there.
    ["none", ["ok", "rate_limited", "rate_limited", "rate_limited"]],
  ])("hold in mode %s", async (mode, expected) => {
    const store = memoryLimits({ clock: () => noon });
    const settings = { models: [], user: { requestsPerMinute: 1 } };
    const auth = { mode } as AuthSettings;
    const parts = { limits: { settings, prices: [], store } };
    const core = coreOf([scripted({ chat: says("a") })], { auth }, parts);
    const codes: string[] = [];
    for (const credential of ["one", "two", "one", "two"]) {
      codes.push((await outcome(core, "complete", { ...chat, user: "u" }, credential)).code);
    }
    expect(codes).toEqual(expected);
  });
});
