/** When servers say to come again, and where. */
import { describe, expect, it } from "vitest";
import { fixture } from "./fixture.js";
import { answering, failure, routed } from "./openai-failing.js";

describe("a server says when to come again", () => {
  const info = (retryDelay: unknown) => ({
    error: { message: "quota", details: [{ "@type": "type.googleapis.com/x" }, { retryDelay }] },
  });

  it.each([
    ["in milliseconds", { "retry-after-ms": "2500" }, {}, 3],
    ["in Retry-After before all", { "retry-after": "7", "retry-after-ms": "2500" }, info("34s"), 7],
    ["in a header before the body", { "retry-after-ms": "2500" }, info("34s"), 3],
    ["in Google's details", {}, info("34s"), 34],
    ["in Google's details behind OpenRouter", {}, routed(429, JSON.stringify(info("0.5s"))), 1],
    ["as it loads", {}, { error: "loading", estimated_time: 20.5 }, 21],
    ["where a header can't be read", { "retry-after": "soon" }, { estimated_time: 4 }, 4],
    ["at most in a year", {}, { estimated_time: 1e23 }, 31_536_000],
  ])("%s", async (_, headers, body, seconds) => {
    expect((await failure(answering(429, body, headers))).askedDelay).toBe(seconds);
  });

  const openRouter = (remaining: string, reset: unknown) => {
    const limit = { "X-RateLimit-Limit": "50", "X-RateLimit-Remaining": remaining };
    const metadata = { headers: { ...limit, "X-RateLimit-Reset": reset } };
    const message = "Rate limit exceeded: free-models-per-day. Add 10 credits";
    return { error: { message, code: 429, metadata }, user_id: "user_1" };
  };

  it("at OpenRouter's own limits, by what it repeats of its headers", async () => {
    const later = String(Date.now() + 90_000);
    const error = await failure(answering(429, openRouter("0", later)));
    expect(error).toMatchObject({ code: "rate_limited", askedDelay: 90 });
    for (const [remaining, reset] of [
      ["3", later],
      ["0", "soon"],
      ["0", "90"],
    ] as const) {
      const { askedDelay } = await failure(answering(429, openRouter(remaining, reset)));
      expect(askedDelay).toBeUndefined();
    }
  });

  it.each([
    ["in letters", { "retry-after-ms": "soon" }, info("soon")],
    ["in another unit", { "retry-after-ms": "-1" }, info("34")],
    ["as another type", {}, { ...info(34), estimated_time: "20" }],
    ["without an end", {}, '{"estimated_time":1e999}'],
  ])("or not: %s", async (_, headers, body) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const error = await failure((exchange) => exchange.send(429, headers, text));
    expect(error.code).toBe("rate_limited");
    expect(error.askedDelay).toBeUndefined();
  });

  it.each([
    ["google/rate-limited", "rate_limited", 35],
    ["huggingface/loading", "unavailable", 36],
  ])("%s", async (name, code, askedDelay) => {
    const error = await failure((exchange) => exchange.play(fixture(name)));
    expect(error).toMatchObject({ code, askedDelay });
  });

  it.each([
    ["details", info("34s").error],
    ["words", { message: "Please retry in 33.07s." }],
  ])("inside of a stream, too, in %s", async (_, said) => {
    const body = { error: { code: 429, ...said } };
    const error = await failure((exchange) => exchange.stream(body));
    expect(error).toMatchObject({ code: "rate_limited", askedDelay: 34 });
  });

  const reached = (words: string) => ({
    error: {
      message: `Rate limit reached: Limit 3, Used 3. ${words}`,
      code: "rate_limit_exceeded",
    },
  });

  it.each([
    ["Please try again in 8.5s. Visit https://example.com/limits to learn more.", 9],
    ["Please try again in 6m0s.", 360],
    ["Please try again in 1h2m3.5s.", 3724],
    ["Please try again in 2 days, 1 hour and 5 minutes.", 176_700],
    ["Please try again in 120ms.", 1],
    ["Please retry after 26 seconds. Please contact support.", 26],
    ["Please retry in 34.074824224s.", 35],
    ["Try again in 30 seconds.", 30],
    ["Please try again in a minute.", undefined],
    ["Please try again in 3 apples.", undefined],
    ["Please try again later.", undefined],
    ["Try 20s again.", undefined],
  ])("in words: %s", async (words, seconds) => {
    expect((await failure(answering(429, reached(words)))).askedDelay).toBe(seconds);
    const routedTo = routed(429, JSON.stringify(reached(words)));
    expect((await failure(answering(429, routedTo))).askedDelay).toBe(seconds);
    const told = { "retry-after": "7" };
    expect((await failure(answering(429, reached(words), told))).askedDelay).toBe(7);
  });

  it("in words of another Lintel as it says where nobody told it a time, which is a guess", async () => {
    const error = { message: "it is at its limit; try again in 1s", code: "rate_limited" };
    const { askedDelay } = await failure((exchange) => exchange.stream({ error }));
    expect(askedDelay).toBeUndefined();
  });

  it.each<[string, Record<string, string>, number | undefined]>([
    [
      "requests",
      { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "7.66s" },
      8,
    ],
    [
      "tokens, while requests are left",
      {
        "x-ratelimit-remaining-requests": "12",
        "x-ratelimit-reset-requests": "50s",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "1s120ms",
      },
      2,
    ],
    [
      "both: the longer of the two",
      {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "20s",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "3s",
      },
      20,
    ],
    [
      "a day, of which a minute is waited",
      { "x-ratelimit-remaining-requests-day": "0", "x-ratelimit-reset-requests-day": "33011.38" },
      60,
    ],
    ["minutes and seconds", { "x-ratelimit-reset-tokens": "6m0s" }, 60],
    [
      "seconds, of a limit of no name",
      { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "3" },
      3,
    ],
    ["seconds, as the draft has it", { "ratelimit-reset": "12" }, 12],
    [
      "nothing left",
      { "x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "9s" },
      undefined,
    ],
    // Azure's, since it began to count otherwise.
    [
      "nothing known",
      { "x-ratelimit-remaining-tokens": "-1", "x-ratelimit-reset-tokens": "0" },
      undefined,
    ],
    ["soon", { "x-ratelimit-reset-tokens": "soon" }, undefined],
    ["nothing", { "x-ratelimit-reset-tokens": "" }, undefined],
  ])("by what is left of a limit: %s", async (_, headers, seconds) => {
    const { askedDelay } = await failure(answering(429, { error: { message: "full" } }, headers));
    expect(askedDelay).toBe(seconds);
    // Of another failure it says nothing.
    const other = await failure(answering(503, { error: { message: "full" } }, headers));
    expect(other.askedDelay).toBeUndefined();
  });

  it.each<[string, string, (at: number) => string]>([
    [
      "Anthropic's date",
      "anthropic-ratelimit-input-tokens-reset",
      (at) => new Date(at).toISOString(),
    ],
    ["seconds of the epoch", "x-ratelimit-reset-requests", (at) => `${Math.ceil(at / 1000)}`],
    ["milliseconds of the epoch", "x-ratelimit-reset", (at) => `${at}`],
  ])("by the time at which a limit is whole again: %s", async (_, name, written) => {
    const at = Date.now() + 40_000;
    const headers = { [name]: written(at), [name.replace("reset", "remaining")]: "0" };
    const { askedDelay = 0 } = await failure(answering(429, {}, headers));
    // As long as the test takes it is less.
    expect(askedDelay).toBeGreaterThanOrEqual(1);
    expect(askedDelay).toBeLessThanOrEqual(41);
    const over = { ...headers, [name]: written(at - 80_000) };
    expect((await failure(answering(429, {}, over))).askedDelay).toBeUndefined();
  });
});
