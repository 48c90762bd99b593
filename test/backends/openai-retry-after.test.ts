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

  it("inside of a stream, too", async () => {
    const body = { error: { code: 429, ...info("34s").error } };
    const error = await failure((exchange) => exchange.stream(body));
    expect(error).toMatchObject({ code: "rate_limited", askedDelay: 34 });
  });
});
