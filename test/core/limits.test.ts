/** Limits around the real core: what counts, and what callers hear. */
import { describe, expect, it } from "vitest";
import type { Call } from "../../src/core/call.js";
import type { Core } from "../../src/core/core.js";
import { LintelError } from "../../src/core/errors.js";
import type { CallerLimits } from "../../src/core/limits/settings.js";
import type { LimitStore } from "../../src/core/limits/store.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { gate } from "../support/calls.js";
import { settled } from "../support/clock.js";
import { coreOf, run } from "../support/core.js";
import { chat, draw, limited, type Method, noon, outcome } from "../support/limits.js";
import { hangsAfter, paints, says, scripted } from "../support/scripted.js";

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

describe("limits of models", () => {
  const asking = (core: Core) => async (model: string) =>
    (await outcome(core, "chat", { ...chat, model })).code;

  it("count the models together that one pattern fits", async () => {
    const { core } = limited({ models: [{ model: "chat-*", requestsPerMinute: 2 }] });
    const ask = asking(core);
    expect(await ask("chat-1")).toBe("ok");
    expect(await ask("chat-2")).toBe("ok");
    expect(await ask("chat-1")).toBe("rate_limited");
    expect(await ask("chat-2")).toBe("rate_limited");
  });

  it("all apply that fit, and a call that one refuses is counted against none", async () => {
    const { core } = limited({
      models: [
        { model: "chat-*", requestsPerMinute: 3 },
        { model: "chat-1", requestsPerMinute: 1 },
      ],
    });
    const ask = asking(core);
    expect(await ask("chat-1")).toBe("ok");
    expect(await ask("chat-1")).toBe("rate_limited");
    expect(await ask("chat-2")).toBe("ok");
    expect(await ask("chat-2")).toBe("ok");
    expect(await ask("chat-2")).toBe("rate_limited");
  });
});

describe("a caller's own limits", () => {
  it("replace those of every caller, one by one", async () => {
    const callers = {
      strict: { requestsPerMinute: 1 },
      free: { requestsPerMinute: Number.POSITIVE_INFINITY, imagesPerDay: 1 },
      plain: {},
      // As those of the configuration are, which names them all.
      quick: { requestsPerMinute: 9, imagesPerDay: undefined },
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
    expect(await passed("quick", "textToImage", draw)).toBe(2);
    // What is without a limit is not told of as one.
    const { metadata } = await outcome(core, "chat", chat, "free");
    expect([...metadata.keys()].filter((name) => name.startsWith("x-ratelimit"))).toEqual([]);
  });

  it("count as they are now, also for a caller who was seen with others", async () => {
    const callers: Record<string, CallerLimits> = { me: { requestsPerMinute: 1 } };
    const { core } = limited({}, { callers });
    expect((await outcome(core, "chat", chat)).code).toBe("ok");
    expect((await outcome(core, "chat", chat)).code).toBe("rate_limited");
    callers.me = { requestsPerMinute: 2 };
    expect((await outcome(core, "chat", chat)).code).toBe("ok");
    expect((await outcome(core, "chat", chat)).error?.message).toContain("2 requests per minute");
  });
});

describe("a team's limits", () => {
  const members = { ann: "red", bob: "red", cat: "blue" };

  it("count what its members do together, beside their own and those of other teams", async () => {
    const settings = { caller: { requestsPerMinute: 2 }, team: { requestsPerMinute: 3 } };
    const { core } = limited(settings, { members });
    const ask = async (who: string) => {
      const { code, error } = await outcome(core, "chat", chat, who);
      return error?.message.split(";")[0] ?? code;
    };
    const reached = "limit reached: ";
    expect([await ask("ann"), await ask("ann")]).toEqual(["ok", "ok"]);
    expect(await ask("ann")).toBe(`${reached}2 requests per minute for this caller`);
    expect(await ask("bob")).toBe("ok");
    expect(await ask("bob")).toBe(`${reached}3 requests per minute for the team "red"`);
    expect([await ask("cat"), await ask("cat")]).toEqual(["ok", "ok"]);
    // Who is of no team is called as one is.
    expect([await ask("red"), await ask("red")]).toEqual(["ok", "ok"]);
  });

  it("of its own replace those of every team, one by one", async () => {
    const { core } = limited(
      {
        team: { requestsPerMinute: 2, imagesPerDay: 1 },
        teams: [
          { team: "red", requestsPerMinute: Number.POSITIVE_INFINITY, concurrent: undefined },
        ],
      },
      { members },
    );
    for (const who of ["ann", "bob", "ann"]) {
      expect((await outcome(core, "chat", chat, who)).code).toBe("ok");
    }
    expect((await outcome(core, "textToImage", draw, "ann")).code).toBe("ok");
    const { error, metadata } = await outcome(core, "textToImage", draw, "bob");
    expect(error?.message).toContain('1 image per day for the team "red"');
    expect(metadata.get("x-should-retry")).toBe("false");
  });
});

describe("images per day", () => {
  it("count prompts and images of each, and begin anew at midnight", async () => {
    const { core, clock } = limited({ caller: { imagesPerDay: 5 } });
    const four = { prompt: "a | b", numImagesPerPrompt: 2 };
    expect((await outcome(core, "textToImage", four)).code).toBe("ok");
    const { error, metadata } = await outcome(core, "textToImage", four);
    expect(error?.message).toBe(
      "limit reached: 5 images per day for this caller, 1 left; ask for less, or try again in 43200 s",
    );
    expect(error?.param).toBe("num_images_per_prompt");
    expect(error?.retryAfter).toBe(43_200);
    // A wait that no client's own retry is for.
    expect(metadata.get("x-should-retry")).toBe("false");
    expect(metadata.has("retry-after-ms")).toBe(false);
    expect((await outcome(core, "textToImage", draw)).code).toBe("ok");
    const none = await outcome(core, "textToImage", draw);
    expect(none.error?.message).toContain("for this caller; try again in 43200 s");
    expect(none.error?.param).toBeUndefined();
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

  it("are none of a caller who left while the store was asked; the request was made", async () => {
    const inner = memoryLimits({ clock: () => noon });
    const answer = gate();
    const store: LimitStore = {
      state: inner.state,
      async reserve(claims) {
        await answer.opened;
        return inner.reserve(claims);
      },
      peek: (counters) => inner.peek(counters),
      settle: (reservation, amounts) => inner.settle(reservation, amounts),
      hold: (...it) => inner.hold(...it),
      keep: (...it) => inner.keep(...it),
      release: (...it) => inner.release(...it),
      close: () => inner.close(),
    };
    const caller = { concurrent: 1, requestsPerMinute: 10, tokensPerMinute: 1000 };
    const settings = { models: [], caller };
    const backend = scripted({ chat: says("a") });
    const core = coreOf([backend], {}, { limits: { settings, prices: [], store } });
    const leaving = new AbortController();
    const left = run(core, "chat", chat, { signal: leaving.signal });
    await settled();
    leaving.abort();
    await expect(left).rejects.toMatchObject({ code: "cancelled" });
    answer.open();
    await settled();
    const { code, metadata } = await outcome(core, "chat", chat);
    expect(code).toBe("ok");
    expect(backend.asked).toHaveLength(1);
    expect(metadata.get("x-ratelimit-remaining-requests")).toBe("8");
    expect(metadata.get("x-ratelimit-remaining-tokens")).toBe(String(1000 - 264));
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
    const { core, clock } = limited({ caller: { requestsPerMinute: 1 } });
    await outcome(core, "chat", chat);
    const refused = async () => {
      const { metadata, error } = await outcome(core, "chat", chat);
      expect(metadata.get("x-ratelimit-remaining-requests")).toBe("0");
      expect(metadata.has("x-should-retry")).toBe(false);
      return [error?.retryAfter, metadata.get("retry-after-ms")];
    };
    // Clients wait for less than a minute by themselves, and may come again for the rest.
    expect(await refused()).toEqual([61, "59999"]);
    clock.now += 59_999;
    expect(await refused()).toEqual([2, "1001"]);
    clock.now += 1001;
    expect((await outcome(core, "chat", chat)).code).toBe("ok");
  });

  it("is nothing where nothing is limited", async () => {
    const { core } = limited({ models: [{ model: "chat-2", requestsPerMinute: 1 }] });
    const { metadata } = await outcome(core, "chat", chat);
    expect([...metadata.keys()].filter((key) => key.startsWith("x-ratelimit"))).toEqual([]);
  });
});
