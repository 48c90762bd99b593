/** Limits of what each team asks of some models. */
import { describe, expect, it, onTestFinished } from "vitest";
import { counterKey, scopes } from "../../src/core/limits/counters.js";
import { pastScopes, usedCounters } from "../../src/core/limits/history.js";
import { unit } from "../../src/core/limits/prices.js";
import { silent } from "../../src/core/log.js";
import { RedisLimits } from "../../src/state/limits/redis.js";
import { RedisConnection } from "../../src/state/redis/connection.js";
import { run } from "../support/core.js";
import { chat, draw, limited, noon, outcome } from "../support/limits.js";
import { redisBinary, redisServers, startRedis } from "../support/redis.js";

const members = { a: "red", b: "red", c: "blue" };

describe("limits of each team and some models", () => {
  it("hold for all members together, beside all others", async () => {
    const { core, clock } = limited(
      {
        team: { requestsPerMinute: 5 },
        models: [
          { model: "chat-1", team: { requestsPerMinute: 2 } },
          { model: "chat-*", caller: { requestsPerMinute: 3 }, team: { requestsPerMinute: 4 } },
        ],
      },
      { members },
    );
    const ask = async (credential: string, model: string) => {
      const { code, error } = await outcome(core, "chat", { ...chat, model }, credential);
      return error?.message ?? code;
    };
    const reached = (words: string) => `limit reached: ${words}; try again in 61 s`;
    const red = 'for the team "red" and the';
    expect([await ask("a", "chat-1"), await ask("b", "chat-1")]).toEqual(["ok", "ok"]);
    expect(await ask("b", "chat-1")).toBe(reached(`2 requests per minute ${red} model "chat-1"`));
    // Nothing was counted of what was refused, and other models and teams, and who has none, have their own.
    expect([await ask("a", "chat-2"), await ask("c", "chat-1"), await ask("d", "chat-1")]).toEqual([
      ...["ok", "ok", "ok"],
    ]);
    expect([await ask("d", "chat-1"), await ask("d", "chat-1")]).toEqual(["ok", "ok"]);
    expect(await ask("b", "chat-2")).toBe("ok");
    expect(await ask("b", "chat-2")).toBe(reached(`4 requests per minute ${red} models "chat-*"`));
    clock.now += 61_000;
    expect(await ask("b", "chat-1")).toBe("ok");
  });

  it("may be of each kind, are over all gateways, and no team's own lifts them", async () => {
    const models = [
      { model: "chat-1", team: { tokensPerMinute: 300, budget: { amount: 1, period: "day" } } },
      { model: "image-*", team: { imagesPerDay: 2, concurrent: 0 } },
    ] as const;
    const prices = [{ model: "chat-1", output: 10_000 }];
    const teams = [{ team: "red", budget: { amount: Number.POSITIVE_INFINITY, period: "day" } }];
    const settings = { models, teams } as Parameters<typeof limited>[0];
    const { core, store } = limited(settings, { prices, members });
    const other = limited(settings, { prices, members, store });
    const error = async (maxTokens: number, at = core, credential = "a") => {
      const request = { ...chat, model: "chat-1", maxTokens };
      return (await outcome(at, "chat", request, credential)).error?.message;
    };
    const red = 'for the team "red" and the model "chat-1"';
    expect(await error(301)).toContain(`more than 300 tokens per minute ${red}`);
    expect(await error(101)).toContain(`more than a budget of 1 per day ${red}`);
    expect(await error(90)).toBeUndefined();
    // Three tokens of an answer were spent of the hundred.
    expect(await error(98, other.core, "b")).toContain(
      `limit reached: a budget of 1 per day ${red}`,
    );
    expect(await error(97, other.core, "b")).toBeUndefined();
    expect(await error(98, other.core, "c")).toBeUndefined();
    const images = await outcome(core, "textToImage", { ...draw, numImagesPerPrompt: 3 }, "a");
    expect(images.error?.message).toContain(
      '2 images per day for the team "red" and the models "image-*"',
    );
    const image = await outcome(core, "textToImage", draw, "a");
    expect(image.error?.message).toContain("0 calls at a time for the team");
  });

  it("may be a team's own, which replace those of each team of the same name one by one", async () => {
    const unlimited = Number.POSITIVE_INFINITY;
    const { core } = limited(
      {
        models: [
          { model: "chat-1", team: { requestsPerMinute: 1, tokensPerMinute: 300 } },
          { model: "image-*", team: { imagesPerDay: 1 } },
        ],
        teams: [
          {
            team: "red",
            models: [
              { model: "chat-1", requestsPerMinute: 2 },
              { model: "chat-*", requestsPerMinute: 3 },
              { model: "image-*", imagesPerDay: unlimited },
            ],
          },
        ],
      },
      { members },
    );
    const told = async (credential: string) => {
      const [account] = await run(core, "getAccount", {}, { credential });
      return account?.limits.map(({ name, quantity, limit }) => `${name} ${quantity} ${limit}`);
    };
    expect(await told("a")).toEqual(["chat-1 1 2", "chat-1 2 300", "chat-* 1 3"]);
    expect(await told("c")).toEqual(["chat-1 1 1", "chat-1 2 300", "image-* 3 1"]);
    const ask = async (model: string, credential = "a") => {
      const { error } = await outcome(core, "chat", { ...chat, model, maxTokens: 5 }, credential);
      return error?.message;
    };
    expect([await ask("chat-1"), await ask("chat-1", "b")]).toEqual([undefined, undefined]);
    expect(await ask("chat-1")).toContain('2 requests per minute for the team "red" and the model');
    expect(await ask("chat-2")).toBeUndefined();
    expect(await ask("chat-2")).toContain(
      '3 requests per minute for the team "red" and the models',
    );
    expect([await ask("chat-1", "c"), await ask("chat-2", "c")]).toEqual([undefined, undefined]);
    expect(await ask("chat-1", "c")).toContain('1 request per minute for the team "blue"');
  });

  it("follow a caller into another team, are told, and tell the tightest in headers", async () => {
    const models = [{ model: "chat-*", team: { requestsPerMinute: 9 } }];
    const its: Record<string, string> = { a: "red" };
    const { core } = limited({ models, caller: { requestsPerMinute: 20 } }, { members: its });
    const left = async () => {
      const { metadata } = await outcome(core, "chat", { ...chat, model: "chat-1" }, "a");
      const [account] = await run(core, "getAccount", {}, { credential: "a" });
      return [
        metadata.get("x-ratelimit-remaining-requests"),
        ...(account?.limits.map(({ scope, name, remaining }) => `${scope} ${name} ${remaining}`) ??
          []),
      ];
    };
    expect(await left()).toEqual(["8", "1  19", "7 chat-* 8"]);
    expect(await left()).toEqual(["7", "1  18", "7 chat-* 7"]);
    its.a = "blue";
    expect(await left()).toEqual(["8", "1  17", "7 chat-* 8"]);
    delete its.a;
    expect(await left()).toEqual(["16", "1  16"]);
  });

  it("go on after a restart with what usage says", async () => {
    const budget = { amount: 5, period: "month" } as const;
    const models = [{ model: "chat-*", team: { imagesPerDay: 3, budget } }];
    const row = { calls: 1, promptTokens: 0, completionTokens: 0, images: 0, spend: unit };
    const rows = [
      { ...row, caller: "a", team: "red", model: "chat-1" },
      { ...row, caller: "b", team: "red", model: "chat-2", images: 2 },
      { ...row, caller: "c", team: "blue", model: "chat-1", spend: 3 * unit },
      { ...row, caller: "a", team: "red", model: "image-1" },
      { ...row, caller: "d", model: "chat-1" },
      { ...row, caller: "d", team: "", model: "chat-1" },
    ];
    const history = { between: async () => rows, ofUsers: async () => [], limited: async () => [] };
    // What stands twice counts once.
    const own = [
      { model: "chat-*", budget },
      { model: "image-*", budget },
    ];
    const teams = [{ team: "red", models: own }];
    const scoped = pastScopes({ limits: { models, teams }, callersOwn: true });
    const used: unknown[] = [];
    for await (const some of usedCounters(history, scoped, noon)) {
      used.push(...some.map(({ key, used }) => [key, used]));
    }
    const month = { type: "calendar", period: "month" } as const;
    const key = (team: string, quantity: "spend" | "images", period: "month" | "day") =>
      counterKey(scopes.teamModel(team, "chat-*"), quantity, { type: "calendar", period });
    expect(used).toEqual([
      [key("red", "images", "day"), 2],
      [key("red", "spend", "month"), 2 * unit],
      [key("blue", "spend", "month"), 3 * unit],
      [counterKey(scopes.teamModel("red", "image-*"), "spend", month), unit],
    ]);
  });
});

describe.skipIf(!redisBinary).each(redisServers)(
  "limits of teams and models in %s",
  (_, binary) => {
    it("are exact over all gateways", async () => {
      const server = await startRedis({ binary });
      onTestFinished(() => server.close());
      const gateway = async () => {
        const settings = { url: server.url, timeoutMs: 30_000 };
        const connection = new RedisConnection(settings, silent, "limits", "open");
        const store = new RedisLimits(connection, { replicas: 2, clock: () => noon });
        onTestFinished(async () => {
          await store.close();
          await connection.close();
        });
        await connection.settled(30_000);
        const models = [{ model: "chat-*", team: { requestsPerMinute: 3 } }];
        return limited({ models }, { members, store }).core;
      };
      const [one, other] = [await gateway(), await gateway()];
      const ask = async (core: typeof one, credential: string) =>
        (await outcome(core, "chat", { ...chat, model: "chat-1" }, credential)).code;
      expect([await ask(one, "a"), await ask(other, "b"), await ask(one, "b")]).toEqual([
        ...["ok", "ok", "ok"],
      ]);
      expect([await ask(one, "a"), await ask(other, "a")]).toEqual([
        "rate_limited",
        "rate_limited",
      ]);
      expect([await ask(one, "c"), await ask(other, "d")]).toEqual(["ok", "ok"]);
    });
  },
);
