/** Limits of what each caller asks of some models. */
import { describe, expect, it } from "vitest";
import { counterKey, scopes } from "../../src/core/limits/counters.js";
import { pastScopes, usedCounters } from "../../src/core/limits/history.js";
import { unit } from "../../src/core/limits/prices.js";
import { chat, draw, limited, noon, outcome } from "../support/limits.js";

describe("limits of each caller and some models", () => {
  it("hold for the two at once, beside all others", async () => {
    const { core, clock } = limited({
      caller: { requestsPerMinute: 4 },
      models: [
        { model: "chat-1", caller: { requestsPerMinute: 1 } },
        { model: "chat-*", requestsPerMinute: 5, caller: { requestsPerMinute: 3 } },
      ],
    });
    const ask = async (credential: string, model: string) => {
      const { code, error } = await outcome(core, "chat", { ...chat, model }, credential);
      return error?.message ?? code;
    };
    const reached = (words: string) => `limit reached: ${words}; try again in 61 s`;
    expect(await ask("a", "chat-1")).toBe("ok");
    expect(await ask("a", "chat-1")).toBe(
      reached('1 request per minute for this caller and the model "chat-1"'),
    );
    // Nothing was counted of what was refused, and other models and callers have their own.
    expect([await ask("a", "chat-2"), await ask("a", "chat-2"), await ask("b", "chat-1")]).toEqual([
      ...["ok", "ok", "ok"],
    ]);
    expect(await ask("a", "chat-2")).toBe(
      reached('3 requests per minute for this caller and the models "chat-*"'),
    );
    expect(await ask("b", "chat-2")).toBe("ok");
    expect(await ask("b", "chat-2")).toBe(reached('5 requests per minute for the models "chat-*"'));
    clock.now += 61_000;
    expect(await ask("a", "chat-1")).toBe("ok");
  });

  it("may be of each kind", async () => {
    const models = [
      { model: "chat-1", caller: { tokensPerMinute: 300, budget: { amount: 1, period: "day" } } },
      { model: "image-*", caller: { imagesPerDay: 2, concurrent: 0 } },
    ] as const;
    const prices = [{ model: "chat-1", output: 10_000 }];
    const { core } = limited({ models }, { prices });
    const error = async (maxTokens: number) =>
      (await outcome(core, "chat", { ...chat, model: "chat-1", maxTokens })).error?.message;
    const both = 'for this caller and the model "chat-1"';
    expect(await error(301)).toContain(`more than 300 tokens per minute ${both}`);
    expect(await error(101)).toContain(`more than a budget of 1 per day ${both}`);
    expect(await error(90)).toBeUndefined();
    const images = await outcome(core, "textToImage", { ...draw, numImagesPerPrompt: 3 });
    expect(images.error?.message).toContain(
      '2 images per day for this caller and the models "image-*"',
    );
    const image = await outcome(core, "textToImage", draw);
    expect(image.error?.message).toContain("0 calls at a time for this caller and the models");
  });

  it("are not lifted by a caller's own", async () => {
    const models = [{ model: "chat-1", caller: { requestsPerMinute: 0 } }];
    const callers = { a: { requestsPerMinute: Number.POSITIVE_INFINITY } };
    const { core } = limited({ models }, { callers });
    expect((await outcome(core, "chat", { ...chat, model: "chat-1" }, "a")).code).toBe(
      "rate_limited",
    );
    expect((await outcome(core, "chat", { ...chat, model: "chat-2" }, "a")).code).toBe("ok");
  });

  it("go on after a restart with what usage says", async () => {
    const budget = { amount: 5, period: "month" } as const;
    const models = [{ model: "chat-*", caller: { imagesPerDay: 3, budget } }];
    const row = { calls: 1, promptTokens: 0, completionTokens: 0, images: 0, spend: unit };
    const rows = [
      { ...row, caller: "a", model: "chat-1" },
      { ...row, caller: "a", model: "chat-2", images: 2 },
      { ...row, caller: "b", model: "chat-1", spend: 3 * unit },
      { ...row, caller: "a", model: "image-1" },
    ];
    const history = { between: async () => rows, ofUsers: async () => [], limited: async () => [] };
    const scoped = pastScopes({ limits: { models }, callersOwn: true });
    const used: unknown[] = [];
    for await (const some of usedCounters(history, scoped, noon)) {
      used.push(...some.map(({ key, used }) => [key, used]));
    }
    const key = (caller: string, quantity: "spend" | "images", period: "month" | "day") =>
      counterKey(scopes.callerModel(caller, "chat-*"), quantity, { type: "calendar", period });
    expect(used).toEqual([
      [key("a", "images", "day"), 2],
      [key("a", "spend", "month"), 2 * unit],
      [key("b", "spend", "month"), 3 * unit],
    ]);
  });
});
