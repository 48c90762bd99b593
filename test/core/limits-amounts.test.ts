/** Limits of what is estimated first and settled by what it took: tokens and money. */
import { describe, expect, it } from "vitest";
import type { Core } from "../../src/core/core.js";
import { LintelError } from "../../src/core/errors.js";
import type { Price } from "../../src/core/limits/settings.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { start } from "../support/calls.js";
import { run } from "../support/core.js";
import { chat, draw, limited, outcome } from "../support/limits.js";
import { chatModel } from "../support/models.js";
import { breaksAfter, hangsAfter, thinksCounted } from "../support/scripted.js";

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

  it("name the prompt where no max_tokens would do, and nothing where no request would", async () => {
    const asked = async (tokensPerMinute: number) =>
      (await outcome(limited(tokens(tokensPerMinute)).core, "chat", { ...chat, maxTokens: 1 }))
        .error;
    // The prompt is estimated at 8.
    expect(await asked(8)).toMatchObject({ code: "rate_limited", param: "max_tokens" });
    expect(await asked(7)).toMatchObject({ code: "rate_limited", param: "messages" });
    const error = await asked(0);
    expect(error?.message).toBe("limit reached: 0 tokens per minute for this caller");
    expect(error?.param).toBeUndefined();
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

  it("are spent less on tokens in a cache, and more on those written to one, where these have a price of their own", async () => {
    const budget = { amount: 1, period: "month" } as const;
    const handlers = { chat: thinksCounted("hm", "x") };
    // Of 7 tokens 3 were in a cache, and 2 were written to one; the 9 of the completion cost nothing.
    for (const [cachedInput, cacheWriteInput, cost] of [
      [undefined, undefined, 7],
      [500, undefined, 5.5],
      [0, undefined, 4],
      [undefined, 2000, 9],
      [0, 0, 2],
      [500, 1250, 6],
    ] as const) {
      const settled = [{ model: "chat-1", input: 1000, cachedInput, cacheWriteInput }];
      const { core } = limited({ caller: { budget } }, { prices: settled, handlers });
      let passed = 0;
      while ((await outcome(core, "chat", chat)).code === "ok") passed++;
      // The prompt is estimated at 8, as if nothing of it were in a cache, or written to one.
      expect(passed).toBe(Math.floor((1000 - 8) / cost) + 1);
    }
  });

  it("are reserved by the dearest target, and settled by the one that answered", async () => {
    const budget = { amount: 1, period: "month" } as const;
    const targets = ["chat-1", "chat-2"].map((model, priority) => {
      return { backend: "scripted", model, priority };
    });
    const models = [{ name: "both", targets }];
    const table: Price[] = [
      { model: "both", target: { model: "chat-2" }, input: 1000, output: 2000 },
      { model: "both", output: 1000 },
    ];
    const { core } = limited({ caller: { budget } }, { prices: table, models });
    // Either is estimated at 8 × 0.001 + 256 × 0.002 = 0.52; the first takes 3 × 0.001.
    const dear = limited(
      { caller: { budget: { ...budget, amount: 0.51 } } },
      { prices: table, models },
    );
    const both = { ...chat, model: "both" };
    expect((await outcome(dear.core, "chat", both)).error?.message).toContain("this request alone");
    let passed = 0;
    while ((await outcome(core, "chat", both)).code === "ok") passed++;
    expect(passed).toBe(Math.floor((1 - 0.52) / 0.003) + 1);
  });

  it("count what a prompt above a length costs, by its estimate and then by what it was", async () => {
    const budget = { amount: 0.9, period: "month" } as const;
    const table: Price[] = [
      { model: "chat-1", promptAbove: 7, output: 3000 },
      { model: "chat-1", output: 1000 },
    ];
    // Estimated at 8 tokens, and so at 256 × 0.003 = 0.768; it was 7, and 3 × 0.001.
    const { core } = limited({ caller: { budget } }, { prices: table });
    let passed = 0;
    while ((await outcome(core, "chat", chat)).code === "ok") passed++;
    expect(passed).toBe(Math.floor((0.9 - 0.768) / 0.003) + 1);
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

  it("of a lifetime are used up for good, until they are raised", async () => {
    const budget = (amount: number) => ({ amount, period: "lifetime" }) as const;
    const { core, clock, store } = limited({ caller: { budget: budget(0.5) } }, { prices });
    const two = { ...draw, numImagesPerPrompt: 2 };
    const three = { ...draw, numImagesPerPrompt: 3 };
    const refusal = async (request: object) => {
      const { error, code, metadata } = await outcome(core, "textToImage", request);
      expect([code, metadata.get("x-should-retry")]).toEqual(["rate_limited", "false"]);
      return [error?.message, error?.param];
    };
    expect(await refusal(three)).toEqual([
      "limit reached: this request alone may take more than a lifetime budget of 0.5 for this caller; ask for less",
      "num_images_per_prompt",
    ]);
    expect((await outcome(core, "textToImage", draw)).code).toBe("ok");
    clock.now = Date.UTC(2040, 0, 1);
    expect(await refusal(two)).toEqual([
      "limit reached: this request may take more than is left of a lifetime budget of 0.5 for this caller, which does not begin anew; ask for less",
      "num_images_per_prompt",
    ]);
    expect((await outcome(core, "textToImage", draw)).code).toBe("ok");
    expect(await refusal(draw)).toEqual([
      "limit reached: a lifetime budget of 0.5 for this caller; it is used up, and does not begin anew",
      undefined,
    ]);
    const raised = limited({ caller: { budget: budget(0.75) } }, { prices, store });
    expect((await outcome(raised.core, "textToImage", draw)).code).toBe("ok");
    expect((await outcome(raised.core, "textToImage", draw)).code).toBe("rate_limited");
  });

  it("of nothing allow nothing that has a price", async () => {
    const budget = { amount: 0, period: "day" } as const;
    const { core } = limited({ caller: { budget } }, { prices });
    expect((await outcome(core, "chat", chat)).code).toBe("rate_limited");
    expect((await outcome(core, "chat", { ...chat, model: "chat-2" })).code).toBe("ok");
  });
});
