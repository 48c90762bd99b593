/** Who asks as whom it is known: what it is told, and that asking counts nowhere. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it, vi } from "vitest";
import {
  type Limit,
  LimitQuantity,
  LimitScope,
  LimitWindow,
} from "../../gen/lintel/v1/account_pb.js";
import { StoredTokens } from "../../src/core/callers/stored.js";
import type { Core } from "../../src/core/core.js";
import { LintelError } from "../../src/core/errors.js";
import type { CallerLimits } from "../../src/core/limits/settings.js";
import { silent } from "../../src/core/log.js";
import type { AuthSettings, ModelSettings } from "../../src/core/settings.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { gate } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { chat, draw, limited, noon, outcome } from "../support/limits.js";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";

async function account(core: Core, credential?: string) {
  const origin = credential === undefined ? {} : { credential };
  const [answer] = await run(core, "getAccount", {}, origin);
  if (!answer) throw new Error("no answer");
  return answer;
}

/** A limit in short: `requests caller 1/2`. */
const short = ({ quantity, scope, name, remaining, limit }: Limit) => {
  const whose = LimitScopes[scope] + (name && ` ${name}`);
  return `${Quantities[quantity]} ${whose} ${remaining}/${limit}`;
};
const namesOf = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).map(([name, n]) => [n, name.toLowerCase()]));
const LimitScopes = namesOf(LimitScope);
const Quantities = namesOf(LimitQuantity);

const left = async (core: Core, credential?: string) =>
  (await account(core, credential)).limits.map(short);

describe("who is told", () => {
  const backend = () => scripted({ chat: says("x") }, [chatModel("chat-1")]);

  it("callers that nobody knows, who may use all models", async () => {
    const none = { mode: "none" } as const;
    const all = { team: "", token: "", models: ["*"], teamModels: [], limits: [] };
    const told = await account(coreOf([backend()], { auth: none }));
    expect(told).toMatchObject({ caller: "anonymous", ...all });
    expect(told.expiresAt).toBeUndefined();
    const shared = await account(coreOf([backend()], { auth: { mode: "public" } }), "a");
    expect(shared).toMatchObject({ caller: expect.stringMatching(/^anon-\w/), ...all });
  });

  it("tokens of the configuration: name, id, team, end and models of both", async () => {
    const [one, two] = [createToken(), createToken()];
    const expiresAt = Date.now() + 86_400_000;
    const auth: AuthSettings = {
      mode: "token",
      tokens: [
        { name: "a", hash: hashToken(one), team: "red", models: ["chat-*", "big"], expiresAt },
        { name: "b", hash: hashToken(two), team: "blue", models: [] },
      ],
      teams: [{ name: "red", models: ["chat-1"] }, { name: "blue" }],
    };
    const core = coreOf([backend()], { auth });
    const told = await account(core, one);
    expect(told).toMatchObject({
      caller: "a",
      token: hashToken(one).replace("sha256:", "").slice(0, 12),
      team: "red",
      models: ["chat-*", "big"],
      teamModels: ["chat-1"],
    });
    expect(told.expiresAt && timestampDate(told.expiresAt).getTime()).toBe(expiresAt);
    expect(await account(core, two)).toMatchObject({ caller: "b", models: [], teamModels: ["*"] });
  });

  it.each([undefined, "unknown"])("nobody with the token %s", async (credential) => {
    const core = coreOf([backend()], { auth: { mode: "token", tokens: [] } });
    await expect(run(core, "getAccount", {}, { credential })).rejects.toMatchObject({
      code: "invalid_token",
    });
  });

  it("the end of the token that was sent, where it was replaced by another", async () => {
    const [now, before] = [createToken(), createToken()];
    const expiresAt = Date.now() + 86_400_000;
    const until = Date.now() + 3_600_000;
    const stored = {
      id: "t1",
      name: "a",
      hash: hashToken(now),
      previous: { hash: hashToken(before), until },
      createdAt: 0,
      expiresAt,
    };
    const tokens = new StoredTokens(
      { find: async () => [stored], changes: async () => ({ version: 1, tokens: [] }) },
      { log: silent },
    );
    const auth = { mode: "token", tokens: [] } as const;
    const core = coreOf([backend()], { auth }, { callers: [tokens] });
    const ends = async (token: string) => {
      const told = await account(core, token);
      return [told.caller, told.expiresAt && timestampDate(told.expiresAt).getTime()];
    };
    expect(await ends(now)).toEqual(["a", expiresAt]);
    expect(await ends(before)).toEqual(["a", until]);
  });

  it("no end that is beyond what can be told", async () => {
    const find = () => ({ id: "a", token: "issuer", expiresAt: 1e300 });
    const auth = { mode: "token", tokens: [] } as const;
    const core = coreOf([backend()], { auth }, { callers: [{ find }] });
    expect((await account(core)).expiresAt).toBeUndefined();
  });
});

describe("limits", () => {
  const everything: CallerLimits = {
    requestsPerMinute: 10,
    tokensPerMinute: 1000,
    imagesPerDay: 5,
    concurrent: 3,
    budget: { amount: 2.5, period: "month" },
  };
  const prices = [
    { model: "chat-*", input: 1000, output: 2000 },
    { model: "image-*", image: 0.75 },
  ];

  it("are told with what is left, as calls count, and with when they are whole again", async () => {
    const { core, clock } = limited({ caller: everything }, { prices });
    const told = async () => (await account(core)).limits;
    const month = Date.UTC(2026, 1, 1) - noon;
    const limit = { $typeName: "lintel.v1.Limit", scope: LimitScope.CALLER, name: "" };
    const { REQUESTS, TOKENS, IMAGES, CONCURRENT, SPEND } = LimitQuantity;
    const { MINUTE, DAY, RUNNING, MONTH } = LimitWindow;
    expect(await told()).toEqual([
      { ...limit, quantity: REQUESTS, limit: 10, remaining: 10, window: MINUTE, resetSeconds: 0 },
      { ...limit, quantity: TOKENS, limit: 1000, remaining: 1000, window: MINUTE, resetSeconds: 0 },
      { ...limit, quantity: IMAGES, limit: 5, remaining: 5, window: DAY, resetSeconds: 43_200 },
      { ...limit, quantity: CONCURRENT, limit: 3, remaining: 3, window: RUNNING },
      {
        ...limit,
        quantity: SPEND,
        limit: 2.5,
        remaining: 2.5,
        window: MONTH,
        resetSeconds: month / 1000,
      },
    ]);
    expect((await outcome(core, "textToImage", { ...draw, numImagesPerPrompt: 2 })).code).toBe(
      "ok",
    );
    clock.now += 1500;
    expect(await left(core)).toEqual([
      "requests caller 9/10",
      "tokens caller 1000/1000",
      "images caller 3/5",
      "concurrent caller 3/3",
      "spend caller 1/2.5",
    ]);
    expect((await told()).map(({ resetSeconds }) => resetSeconds)).toEqual([
      60,
      0,
      43_199,
      undefined,
      month / 1000 - 1,
    ]);
  });

  it("of what the caller asks of single models are told, of those that it may use", async () => {
    const models = [
      { model: "chat-*", requestsPerMinute: 9, caller: { requestsPerMinute: 2 } },
      { model: "image-1", caller: { imagesPerDay: 4 } },
    ];
    const { core } = limited({ caller: { requestsPerMinute: 5 }, models });
    expect((await outcome(core, "chat", { ...chat, model: "chat-1" })).code).toBe("ok");
    expect(await left(core)).toEqual([
      "requests caller 4/5",
      "requests caller_model chat-* 1/2",
      "images caller_model image-1 4/4",
      "requests model chat-* 8/9",
    ]);
  });

  it("count calls that run, by what they reserved", async () => {
    const answer = gate();
    const { core } = limited(
      { caller: { imagesPerDay: 5, concurrent: 2 } },
      {
        handlers: {
          // biome-ignore lint/correctness/useYield: it fails before it has anything
          async *streamTextToImage() {
            await answer.opened;
            throw new LintelError("invalid_value", "not like that");
          },
        },
      },
    );
    const running = outcome(core, "streamTextToImage", { ...draw, numImagesPerPrompt: 4 });
    await vi.waitFor(async () =>
      expect(await left(core)).toEqual(["images caller 1/5", "concurrent caller 1/2"]),
    );
    answer.open();
    await running;
    expect(await left(core)).toEqual(["images caller 5/5", "concurrent caller 2/2"]);
  });

  it("are not touched by asking, which is neither limited nor used", async () => {
    const kept: object[] = [];
    const limits = {
      settings: { models: [], caller: { requestsPerMinute: 1, concurrent: 1 } },
      prices: [],
      store: memoryLimits({ clock: () => noon }),
    };
    const usage = { sink: { keep: (record: object) => void kept.push(record) }, prices: [] };
    const core = coreOf([scripted({ chat: says("x") })], {}, { limits, usage: usage as never });
    for (let i = 0; i < 3; i++) expect(await left(core)).toContain("requests caller 1/1");
    expect((await outcome(core, "chat", chat)).code).toBe("ok");
    expect(await left(core)).toContain("requests caller 0/1");
    expect(kept).toHaveLength(1);
  });

  it("are those of the caller, its team, models and all, and nobody else's", async () => {
    const { core } = limited(
      {
        caller: { requestsPerMinute: 10 },
        team: { requestsPerMinute: 20 },
        teams: [{ team: "red", requestsPerMinute: 30 }],
        models: [{ model: "chat-*", requestsPerMinute: 40 }],
        global: { requestsPerMinute: 50 },
      },
      {
        callers: { ann: { requestsPerMinute: 11 }, dan: { requestsPerMinute: Infinity } },
        members: { ann: "red", bob: "red", cat: "blue" },
      },
    );
    for (const who of ["ann", "bob", "bob"]) await outcome(core, "chat", chat, who);
    const shared = ["requests model chat-* 37/40", "requests global 47/50"];
    expect(await left(core, "ann")).toEqual([
      "requests caller 10/11",
      "requests team red 27/30",
      ...shared,
    ]);
    expect(await left(core, "bob")).toEqual([
      "requests caller 8/10",
      "requests team red 27/30",
      ...shared,
    ]);
    expect(await left(core, "cat")).toEqual([
      "requests caller 10/10",
      "requests team blue 20/20",
      ...shared,
    ]);
    expect(await left(core, "dan")).toEqual(shared);
  });

  it("are none where nothing is limited", async () => {
    expect(await left(limited({}).core)).toEqual([]);
  });

  it("do not fail where the store does not know", async () => {
    const store = memoryLimits({ clock: () => noon });
    store.expectMore();
    const settings = { models: [], caller: { requestsPerMinute: 2, imagesPerDay: 3 } };
    const core = coreOf([scripted({})], {}, { limits: { settings, prices: [], store } });
    const [requests, images] = (await account(core)).limits;
    expect(requests).toMatchObject({ remaining: 2, resetSeconds: 0 });
    expect(images).toMatchObject({ limit: 3, window: LimitWindow.DAY });
    expect([images?.remaining, images?.resetSeconds]).toEqual([undefined, undefined]);
  });
});

describe("limits of models are told of those that the caller may use", () => {
  const limits = ["chat-1", "chat-*", "*-2", "image-1", "org/small", "org/big"].map((model) => ({
    model,
    concurrent: 1,
  }));
  const entries: readonly ModelSettings[] = [
    { name: "chat-1", aliases: ["first"] },
    { name: "org/*", aliases: ["o/*"] },
  ];
  const told = async (models?: readonly string[], teamModels?: readonly string[]) => {
    const settings = { models: limits };
    const store = memoryLimits();
    const served = [chatModel("chat-1"), chatModel("chat-2"), chatModel("full:latest")];
    const backend = scripted({ chat: says("x") }, served);
    const find = () => ({ id: "a", team: "t", ...(models && { models }), teamModels });
    const core = coreOf(
      [{ ...backend, fullName: (name: string) => (name === "full" ? "full:latest" : undefined) }],
      { auth: { mode: "token", tokens: [] }, models: entries },
      {
        limits: {
          settings: { models: [...settings.models, { model: "full:*", concurrent: 1 }] },
          prices: [],
          store,
        },
        callers: [{ find: find as never }],
      },
    );
    return (await account(core)).limits.map(({ name }) => name);
  };

  it.each<[string, string[] | undefined, string[] | undefined, string[]]>([
    ["all", undefined, undefined, [...limits.map(({ model }) => model), "full:*"]],
    ["none", [], undefined, []],
    ["a name", ["chat-1"], undefined, ["chat-1", "chat-*"]],
    ["a pattern", ["chat-*"], undefined, ["chat-1", "chat-*", "*-2"]],
    ["what the team may not use", ["chat-*"], ["*-2"], ["chat-*", "*-2"]],
    ["what the team alone may use", undefined, ["image-*"], ["image-1", "*-2"]],
    ["an alias", ["first"], undefined, ["chat-1", "chat-*"]],
    ["a name that an alias with a * fits", ["o/small"], undefined, ["org/small"]],
    ["such an alias", ["o/*"], undefined, ["*-2", "org/small", "org/big"]],
    ["a name that a backend has in full", ["full"], undefined, ["full:*"]],
    ["others", ["other"], undefined, []],
  ])("%s", async (_, models, teamModels, names) => {
    expect((await told(models, teamModels)).sort()).toEqual([...names].sort());
  });
});
