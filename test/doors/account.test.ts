/** As whom a caller is known and what is left of its limits, by every door. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Code, createClient } from "@connectrpc/connect";
import { expect, onTestFinished, test } from "vitest";
import {
  AccountService,
  LimitQuantity,
  LimitScope,
  LimitWindow,
} from "../../gen/lintel/v1/account_pb.js";
import type { CoreParts } from "../../src/core/core.js";
import { periodAt } from "../../src/core/limits/period.js";
import { TimeZone } from "../../src/core/time-zone.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { gateway } from "../support/gateway.js";
import { says, scripted } from "../support/scripted.js";
import { faultsOfAnswer } from "./openapi-document.js";
import { transportOf, wires } from "./rpc-server.js";
import { hello, json, serve } from "./serve.js";

const noon = Date.UTC(2026, 0, 15, 12);
const expiresAt = Date.UTC(2100, 0, 1);
const secret = createToken();
const headers = { authorization: `Bearer ${secret}` };

/** A Lintel with one token and limits, whose time stands still. */
async function limited() {
  const store = memoryLimits({ clock: () => noon });
  const parts: Partial<CoreParts> = {
    limits: {
      settings: {
        models: [{ model: "chat-*", concurrent: 4, budget: { amount: 5, period: "lifetime" } }],
        caller: { requestsPerMinute: 2 },
        team: { budget: { amount: 0.5, period: "week" } },
        user: { requestsPerMinute: 1 },
      },
      prices: [{ model: "*", output: 100_000 }],
      store,
    },
  };
  const auth = {
    mode: "token",
    tokens: [{ name: "a", hash: hashToken(secret), team: "red", models: ["chat-1"], expiresAt }],
  } as const;
  const backend = scripted({ chat: says("Hi") });
  return { store, ...(await serve(backend, { parts, core: { auth } })) };
}

test("GET /account", async () => {
  const server = await limited();
  await (await server.post("/llm", hello({ model: "chat-1", max_tokens: 2 }), headers)).text();
  const answer = await server.get("/account", headers);
  expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(answer.headers.get("x-request-id")).toMatch(/./);
  expect([...answer.headers.keys()].filter((name) => name.startsWith("x-ratelimit"))).toEqual([]);
  const week = Date.UTC(2026, 0, 19) - noon;
  const account = await json(answer);
  expect(faultsOfAnswer("Account", account)).toEqual([]);
  expect(account).toEqual({
    caller: "a",
    token: hashToken(secret).slice("sha256:".length, "sha256:".length + 12),
    team: "red",
    expires_at: "2100-01-01T00:00:00.000Z",
    models: ["chat-1"],
    team_models: ["*"],
    limits: [
      {
        quantity: "requests",
        scope: "caller",
        name: "",
        limit: 2,
        remaining: 1,
        window: "minute",
        reset_seconds: 61,
      },
      {
        quantity: "spend",
        scope: "team",
        name: "red",
        limit: 0.5,
        remaining: 0.4,
        window: "week",
        reset_seconds: week / 1000,
      },
      {
        quantity: "concurrent",
        scope: "model",
        name: "chat-*",
        limit: 4,
        remaining: 4,
        window: "running",
      },
      {
        quantity: "spend",
        scope: "model",
        name: "chat-*",
        limit: 5,
        remaining: 4.9,
        window: "lifetime",
      },
    ],
  });
});

test("GET /account?user= tells of that end user, too", async () => {
  const server = await limited();
  const asking = hello({ model: "chat-1", max_tokens: 2, user: "u/1 ä" });
  await (await server.post("/llm", asking, headers)).text();
  const limits = async (query: string) =>
    (await json(await server.get(`/account${query}`, headers))).limits.filter(
      ({ scope }: { scope: string }) => scope === "user",
    );
  const of = { quantity: "requests", scope: "user", limit: 1, window: "minute" };
  expect(await limits(`?user=${encodeURIComponent("u/1 ä")}`)).toEqual([
    { ...of, name: "u/1 ä", remaining: 0, reset_seconds: 61 },
  ]);
  expect(await limits("?user=other")).toEqual([
    { ...of, name: "other", remaining: 1, reset_seconds: 0 },
  ]);
  expect(await limits("?user=")).toEqual([]);
});

test.each([
  ["user=a&user=b", "must be a string"],
  [`user=${"u".repeat(257)}`, "must be of at most 256 characters, without control characters"],
])("GET /account?%s is refused", async (query, message) => {
  const server = await limited();
  const refused = await server.get(`/account?${query}`, headers);
  expect(refused.status).toBe(422);
  expect((await json(refused)).detail).toEqual([
    { loc: ["query", "user"], msg: message, type: "value_error" },
  ]);
});

test("GET /account tells what is not known by its absence", async () => {
  const server = await limited();
  server.store.expectMore();
  const { limits } = await json(await server.get("/account", headers));
  expect(Object.keys(limits[1])).toEqual(["quantity", "scope", "name", "limit", "window"]);
});

test.each([
  [
    { authorization: "" },
    "a bearer token is required: send the header Authorization: Bearer <token>",
  ],
  [{ authorization: "Bearer other" }, "the bearer token is not known"],
])("GET /account refuses %j as every path does", async (wrong, message) => {
  const server = await limited();
  const refused = await server.get("/account", wrong);
  expect(refused.status).toBe(401);
  expect((await json(refused)).error).toMatchObject({ code: "invalid_token", message });
});

test("POST /account is not there, and says what is", async () => {
  const server = await limited();
  const refused = await server.post("/account", {}, headers);
  expect(refused.status).toBe(405);
  expect(refused.headers.get("allow")).toContain("GET");
});

test.each(wires)("%s", async (wire) => {
  const server = await limited();
  const client = createClient(AccountService, transportOf(wire, server.url, onTestFinished));
  const told = await client.getAccount({}, { headers });
  expect(told).toMatchObject({ caller: "a", team: "red", models: ["chat-1"], teamModels: ["*"] });
  expect(told.expiresAt && timestampDate(told.expiresAt).getTime()).toBe(expiresAt);
  expect(told.limits).toMatchObject([
    {
      quantity: LimitQuantity.REQUESTS,
      scope: LimitScope.CALLER,
      window: LimitWindow.MINUTE,
      limit: 2,
      remaining: 2,
      resetSeconds: 0,
    },
    { quantity: LimitQuantity.SPEND, scope: LimitScope.TEAM, name: "red", remaining: 0.5 },
    { quantity: LimitQuantity.CONCURRENT, scope: LimitScope.MODEL, name: "chat-*", remaining: 4 },
    { quantity: LimitQuantity.SPEND, window: LimitWindow.LIFETIME, remaining: 5 },
  ]);
  for (const i of [2, 3]) expect(told.limits[i]?.resetSeconds).toBeUndefined();
  const ofUser = await client.getAccount({ user: "u-1" }, { headers });
  expect(ofUser.limits[1]).toMatchObject({ scope: LimitScope.USER, name: "u-1", remaining: 1 });
  await expect(
    client.getAccount({}, { headers: { authorization: "Bearer other" } }),
  ).rejects.toMatchObject({
    code: Code.Unauthenticated,
    rawMessage: "the bearer token is not known",
  });
});

test("GET /account tells when days and months begin anew by the clocks of time_zone", async () => {
  const { url } = await gateway(`auth: { mode: public }
time_zone: Asia/Kathmandu
limits: { caller: { images_per_day: 5, budget: { amount: 1, period: month } } }
`);
  const zone = new TimeZone("Asia/Kathmandu");
  const before = Date.now();
  const { limits } = await json(await fetch(`${url}/account`, { headers }));
  const after = Date.now();
  for (const [i, period] of (["day", "month"] as const).entries()) {
    const { reset_seconds } = limits[i];
    // As of some moment between the two, up to a whole second.
    expect(reset_seconds).toBeGreaterThanOrEqual(
      (periodAt(period, before, zone).end - after) / 1000,
    );
    expect(reset_seconds).toBeLessThanOrEqual(
      Math.ceil((periodAt(period, after, zone).end - before) / 1000),
    );
  }
});
