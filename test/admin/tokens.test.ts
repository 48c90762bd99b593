/** Tokens by the services of administration, through whole gateways. */

import { setImmediate } from "node:timers/promises";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { ConnectError, createClient } from "@connectrpc/connect";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { State, TokensService } from "../../gen/lintel/admin/v1/tokens_pb.js";
import { createToken } from "../../src/core/tokens.js";
import { SqliteSql } from "../../src/state/database/sqlite.js";
import { transportOf, wires } from "../doors/rpc-server.js";
import { gate } from "../support/calls.js";
import { noPostgres, startPostgres } from "../support/postgres.js";
import { closeOfLast } from "../support/taken.js";
import { administered, adminLines, as, secret } from "./gateway.js";

const reasonOf = (thrown: unknown) => {
  const error = ConnectError.from(thrown);
  const [info] = error.findDetails(ErrorInfoSchema);
  return { reason: info?.reason, param: info?.metadata.param, message: error.rawMessage };
};

describe.each(wires)("by %s", (wire) => {
  it("issues, lists, gets, changes, rotates and revokes tokens", async () => {
    const { adminUrl, chat } = await administered();
    const tokens = createClient(TokensService, transportOf(wire, adminUrl));
    const made = await tokens.createToken(
      {
        name: "alice",
        models: { names: ["chat", "image-*"] },
        fromAddresses: { networks: ["127.0.0.1", "2001:db8::/32"] },
        team: "red",
        limits: {
          requestsPerMinute: { kind: { case: "amount", value: 60n } },
          tokensPerMinute: { kind: { case: "unlimited", value: true } },
          budget: { kind: { case: "amount", value: 2.5 }, period: "day" },
          user: {
            requestsPerMinute: { kind: { case: "amount", value: 5n } },
            budget: { kind: { case: "amount", value: 0.5 }, period: "lifetime" },
          },
        },
        expiry: { kind: { case: "ttl", value: { seconds: 3600n, nanos: 0 } } },
      },
      as(),
    );
    expect(made.secret).toMatch(/^lt_[\w-]{43}$/);
    expect(made.warnings).toEqual([]);
    const { token } = made;
    expect(token).toMatchObject({ name: "alice", state: State.ACTIVE, team: "red" });
    expect(token?.models).toEqual(["chat", "image-*"]);
    expect(token?.fromAddresses).toEqual(["127.0.0.1", "2001:db8::/32"]);
    expect(token?.limits).toMatchObject({
      requestsPerMinute: { kind: { case: "amount", value: 60n } },
      tokensPerMinute: { kind: { case: "unlimited", value: true } },
      budget: { kind: { case: "amount", value: 2.5 }, period: "day" },
      user: {
        requestsPerMinute: { kind: { case: "amount", value: 5n } },
        budget: { kind: { case: "amount", value: 0.5 }, period: "lifetime" },
      },
    });
    expect(token?.limits?.concurrent).toBeUndefined();
    expect((await chat("chat", "Hello", made.secret)).status).toBe(200);
    expect((await tokens.listTokens({}, as())).tokens).toEqual([token]);
    expect((await tokens.getToken({ token: "alice" }, as())).token).toEqual(token);

    const updated = await tokens.updateToken(
      {
        token: token?.id ?? "",
        models: { names: ["other"] },
        team: "",
        limits: {
          requestsPerMinute: { kind: { case: "inherit", value: true } },
          user: { requestsPerMinute: { kind: { case: "inherit", value: true } } },
        },
        expiry: { kind: { case: "never", value: true } },
      },
      as(),
    );
    expect(updated.token).toMatchObject({ id: token?.id, models: ["other"], team: "" });
    expect(updated.token?.limits?.requestsPerMinute).toBeUndefined();
    expect(updated.token?.limits?.user?.requestsPerMinute).toBeUndefined();
    expect(updated.token?.limits?.user?.budget?.period).toBe("lifetime");
    expect(updated.token?.limits?.tokensPerMinute?.kind.case).toBe("unlimited");
    expect(updated.token?.expireTime).toBeUndefined();
    expect(updated.appliesWithin?.seconds).toBe(5n);
    // At once, and not within that time: this gateway did it.
    expect((await chat("chat", "Hello", made.secret)).status).toBe(403);

    const grace = { seconds: 3600n, nanos: 0 };
    await tokens.updateToken({ token: "alice", models: {} }, as());
    const elsewhere = { token: "alice", fromAddresses: { networks: ["10.0.0.0/8"] } };
    const moved = await tokens.updateToken(elsewhere, as());
    expect(moved.token?.fromAddresses).toEqual(["10.0.0.0/8"]);
    const refused = await chat("chat", "Hello", made.secret);
    expect([refused.status, await refused.text()]).toEqual([
      ...[403, expect.stringContaining("address_not_allowed")],
    ]);
    const back = await tokens.updateToken({ token: "alice", fromAddresses: {} }, as());
    expect(back.token?.fromAddresses).toEqual([]);
    const rotated = await tokens.rotateToken({ token: "alice", grace }, as());
    expect(rotated.token).toMatchObject({ id: token?.id, state: State.ACTIVE });
    expect(rotated.token?.previousExpireTime).toBeDefined();
    for (const each of [made.secret, rotated.secret]) {
      expect((await chat("chat", "Hello", each)).status).toBe(200);
    }
    const again = await tokens.rotateToken({ token: "alice" }, as()).catch(reasonOf);
    expect(again).toMatchObject({ reason: "failed_precondition", param: "force" });

    const revoked = await tokens.revokeToken({ token: "alice" }, as());
    expect(revoked.token?.state).toBe(State.REVOKED);
    expect(revoked.token?.previousExpireTime).toBeUndefined();
    for (const each of [made.secret, rotated.secret]) {
      expect((await chat("chat", "Hello", each)).status).toBe(401);
    }
    expect((await tokens.listTokens({}, as())).tokens).toEqual([]);
    expect((await tokens.listTokens({ includeRevoked: true }, as())).tokens).toEqual([
      revoked.token,
    ]);
  });
});

describe.skipIf(noPostgres !== undefined)("on PostgreSQL", () => {
  it("another gateway refuses what one revoked, and pages have every token once", async () => {
    const postgres = await startPostgres();
    try {
      const state = `state: { database: "${postgres.url}", refresh: 20ms }\n`;
      const one = await administered(`${state}${adminLines()}`);
      const other = await administered(`${state}${adminLines()}`);
      const names = ["a", "b", "c", "d", "e"];
      for (const name of names) await one.tokens.createToken({ name }, as());
      const listed: string[] = [];
      let pageToken = "";
      do {
        const page = await other.tokens.listTokens({ pageSize: 2, pageToken }, as());
        expect(page.tokens.length).toBeLessThanOrEqual(2);
        listed.push(...page.tokens.map(({ name }) => name));
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
      expect(listed.toSorted()).toEqual(names);
      const { secret: bearer } = await one.tokens.createToken({ name: "f" }, as());
      expect((await other.chat("chat", "Hello", bearer)).status).toBe(200);
      await one.tokens.revokeToken({ token: "f" }, as());
      await expect.poll(async () => (await other.chat("chat", "Hello", bearer)).status).toBe(401);
      // Away: said so, with a time to try again.
      await postgres.kill();
      const away = await one.post("TokensService/ListTokens", {});
      expect(away.status).toBe(503);
      expect(away.headers.get("retry-after")).toBe("1");
      expect(away.json).toMatchObject({ code: "unavailable" });
      expect(JSON.stringify(away.json)).not.toContain("postgres://");
    } finally {
      await postgres.remove();
    }
  });
});

it("takes and gives JSON as curl has it, with the contract's names", async () => {
  const { post, chat } = await administered();
  const { status, headers, json } = await post("TokensService/CreateToken", {
    name: "kiosk",
    team: "rde",
    limits: { requests_per_minute: { amount: 60 }, concurrent: { unlimited: true } },
    expiry: { ttl: "86400s" },
  });
  expect(status).toBe(200);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("x-request-id")).toMatch(/\S+/);
  expect(json).toMatchObject({
    token: {
      name: "kiosk",
      state: "STATE_ACTIVE",
      limits: { requests_per_minute: { amount: "60" }, concurrent: { unlimited: true } },
    },
    warnings: [expect.stringContaining('did you mean "red"')],
  });
  expect((await chat("chat", "Hello", json.secret)).status).toBe(200);
  const here = { networks: ["127.0.0.1"] };
  const bound = await post("TokensService/UpdateToken", { token: "kiosk", from_addresses: here });
  expect(bound.json).toMatchObject({ token: { from_addresses: here.networks } });
  expect(bound.json.warnings ?? []).toEqual([]);
  // Times are told as they were said, to the millisecond.
  const expiry = { time: "2099-01-31T18:00:00.250Z" };
  const timed = await post("TokensService/CreateToken", { name: "a", expiry });
  expect(timed.json.token.expire_time).toBe(expiry.time);
  const short = { name: "b", expiry: { ttl: "0.9s" } };
  expect((await post("TokensService/CreateToken", short)).status).toBe(200);
});

it("a token that has expired says so, as does one whose grace is over, and a budget without a period is one of a month", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { tokens } = await administered();
  const expiry = { kind: { case: "ttl", value: { seconds: 60n, nanos: 0 } } } as const;
  const limits = { budget: { kind: { case: "amount", value: 5 } } } as const;
  const { token } = await tokens.createToken({ name: "a", expiry, limits }, as());
  expect([token?.state, token?.limits?.budget?.period]).toEqual([State.ACTIVE, "month"]);
  const grace = { seconds: 30n, nanos: 0 };
  const until = (await tokens.rotateToken({ token: "a", grace }, as())).token?.previousExpireTime;
  expect(until && timestampMs(until)).toBe(Date.now() + 30_000);
  vi.setSystemTime(Date.now() + 30_000);
  const alone = (await tokens.getToken({ token: "a" }, as())).token;
  expect([alone?.state, alone?.previousExpireTime]).toEqual([State.ACTIVE, undefined]);
  vi.setSystemTime(Date.now() + 30_000);
  expect((await tokens.getToken({ token: "a" }, as())).token?.state).toBe(State.EXPIRED);
});

it("a token that is of no team any more is counted with none", async () => {
  const limits = "limits: { team: { requests_per_minute: 1 } }\n";
  const { tokens, chat } = await administered(`${limits}${adminLines()}`);
  const { secret: bearer } = await tokens.createToken({ name: "a", team: "red" }, as());
  await tokens.updateToken({ token: "a", team: "" }, as());
  for (const _ of [1, 2]) expect((await chat("chat", "Hello", bearer)).status).toBe(200);
});

it("tokens come in pages, of which the last says that it is", async () => {
  const { tokens } = await administered();
  for (const name of ["a", "b", "c", "d"]) await tokens.createToken({ name }, as());
  const listed: string[] = [];
  let pageToken = "";
  for (const isLast of [false, true]) {
    const page = await tokens.listTokens({ pageSize: 2, pageToken }, as());
    listed.push(...page.tokens.map(({ name }) => name));
    pageToken = page.nextPageToken;
    expect([page.tokens.length, pageToken === ""]).toEqual([2, isLast]);
  }
  expect(listed.toSorted()).toEqual(["a", "b", "c", "d"]);
});

it("takes an integer in a text with an exponent, as protobuf's JSON has it", async () => {
  const { post, tokens } = await administered();
  const limits = { requestsPerMinute: { amount: "1e3" } };
  expect((await post("TokensService/CreateToken", { name: "a", limits })).status).toBe(200);
  const { token } = await tokens.getToken({ token: "a" }, as());
  expect(token?.limits?.requestsPerMinute?.kind).toEqual({ case: "amount", value: 1000n });
});

it("of two rotations at the same time one is made, the other is told so; all are counted", async () => {
  const { post, tokens, chat, url } = await administered(
    `telemetry: { prometheus: true }\n${adminLines()}`,
  );
  await tokens.createToken({ name: "a" }, as());
  // Each has read the token before one of them changes it.
  const run = SqliteSql.prototype.run;
  let reading = 2;
  let bothRead = () => {};
  const read = new Promise<void>((resolve) => {
    bothRead = resolve;
  });
  const spied = vi.spyOn(SqliteSql.prototype, "run").mockImplementation(async function (
    this: SqliteSql,
    statements,
  ) {
    const rows = await run.call(this, statements);
    if (
      reading > 0 &&
      statements[0]?.text.startsWith("SELECT * FROM lintel_tokens WHERE owner IS NULL AND (name")
    ) {
      reading--;
      if (reading === 0) bothRead();
      await read;
    }
    return rows;
  });
  onTestFinished(() => spied.mockRestore());
  const both = await Promise.all(
    [1, 2].map(() => post("TokensService/RotateToken", { token: "a" })),
  );
  const [made, refused] = both.toSorted((a, b) => a.status - b.status);
  expect([made?.status, refused?.status, refused?.json.code]).toEqual([200, 409, "aborted"]);
  expect(refused?.json.message).toContain('"a" was rotated by somebody else');
  expect((await chat("chat", "Hello", made?.json.secret)).status).toBe(200);
  await post("TokensService/ListTokens", {}, createToken());
  const text = await (await fetch(`${url}/metrics`)).text();
  const counted = text.split("\n").filter((line) => line.startsWith("lintel_admin_calls_total"));
  expect(counted.toSorted()).toEqual([
    'lintel_admin_calls_total{lintel_admin_method="createToken",lintel_outcome="ok"} 1',
    'lintel_admin_calls_total{lintel_admin_method="listTokens",lintel_outcome="invalid_token"} 1',
    'lintel_admin_calls_total{lintel_admin_method="rotateToken",lintel_outcome="aborted"} 1',
    'lintel_admin_calls_total{lintel_admin_method="rotateToken",lintel_outcome="ok"} 1',
  ]);
});

it("says why in the log where the database fails, and not to who asked", async () => {
  const { post, said } = await administered();
  const failing = vi
    .spyOn(SqliteSql.prototype, "run")
    .mockRejectedValue(new Error("disk I/O error"));
  onTestFinished(() => failing.mockRestore());
  const { status, json } = await post("TokensService/ListTokens", {});
  expect([status, JSON.stringify(json)]).toEqual([500, expect.not.stringContaining("disk")]);
  const { fields } = await said("admin call");
  expect(fields).toMatchObject({
    code: "internal",
    cause: expect.stringContaining("disk I/O error"),
  });
});

/** What is written to the database is told late. @returns what lets it be told, once it is written */
function slowDatabase() {
  const { run } = SqliteSql.prototype;
  const { opened, open } = gate();
  const written = gate();
  const spied = vi.spyOn(SqliteSql.prototype, "run").mockImplementation(async function (
    this: SqliteSql,
    statements,
  ) {
    const rows = await run.call(this, statements);
    if (statements.some(({ text }) => text.includes("INSERT INTO lintel_tokens"))) {
      written.open();
      await opened;
    }
    return rows;
  });
  onTestFinished(() => spied.mockRestore());
  return { written: written.opened, open };
}

describe("whoever does not wait for the end of a change", () => {
  const create = (url: string, init: RequestInit & { headers?: object } = {}) =>
    fetch(`${url}/lintel.admin.v1.TokensService/CreateToken`, {
      ...{ method: "POST", body: '{"name":"a"}', ...init },
      headers: { ...as().headers, "content-type": "application/json", ...init.headers },
    });

  it.each([
    ["what it said itself", "1", "10m"],
    ["the longest that any call may take", "600000", "1ms"],
  ])("is told so after %s, and the log that nobody heard", async (_, ms, total) => {
    const { url, said, write, reload } = await administered();
    write(`timeouts: { total: ${total} }\n${adminLines()}`);
    await reload();
    const { open } = slowDatabase();
    const answer = await create(url, { headers: { "connect-timeout-ms": ms } });
    expect([answer.status, await answer.json()]).toMatchObject([
      504,
      { code: "deadline_exceeded", message: "the deadline passed" },
    ]);
    open();
    const { fields } = await said("admin call");
    expect(fields).toMatchObject({ method: "createToken", code: "ok", unheard: "timeout" });
  });

  it("has it made all the same where it has left, which the log says", async () => {
    const { url, said } = await administered();
    const { written, open } = slowDatabase();
    const closed = closeOfLast();
    const leaving = new AbortController();
    const answer = create(url, { signal: leaving.signal, headers: { connection: "close" } });
    await written;
    leaving.abort();
    await expect(answer).rejects.toThrow("abort");
    await closed();
    await setImmediate();
    open();
    const { fields } = await said("admin call");
    expect(fields).toMatchObject({ code: "ok", unheard: "cancelled" });
  });
});

it("refuses names that are taken, tokens that are not there, and messages that are too large", async () => {
  const { post, tokens } = await administered();
  await tokens.createToken({ name: "a" }, as());
  const twice = await post("TokensService/CreateToken", { name: "a" });
  expect([twice.status, twice.json.code]).toEqual([409, "already_exists"]);
  const lost = await post("TokensService/RevokeToken", { token: "b" });
  expect([lost.status, lost.json.message]).toEqual([404, 'there is no token "b" that counts']);
  const own = createToken();
  for (const token of [own, `Bearer ${own}`, `${own} `]) {
    const confused = await post("TokensService/RevokeToken", { token });
    expect(confused.json.message).toBe("token has to be a name or an id, and not the token itself");
  }
  expect((await post("TokensService/CreateToken", { name: `Bearer ${own}` })).json.message).toBe(
    "name: must be a name, and no token",
  );
  const names = Array.from({ length: 10_000 }, (_, i) => `model-${i}`);
  const large = await post("TokensService/CreateToken", { name: "c", models: { names } });
  expect(large.json.message).toBe("the message is too large: at most 65536 bytes are allowed");
  expect((await post("TokensService/CreateToken", "{")).json.message).toMatch(/JSON/);
});

it("leaves one line in the log of each call, with no secret in it", async () => {
  const { tokens, post, lines } = await administered();
  const { secret: bearer, token } = await tokens.createToken({ name: "a" }, as());
  const own = createToken();
  await post("TokensService/GetToken", { token: ` ${own}` });
  await post("TokensService/GetToken", { token: "a" }, bearer);
  await post("TokensService/GetToken", { token: "a" }, null);
  await post("TokensService/GetToken", { token: "x".repeat(5000) });
  const told = lines.filter(({ message }) => message === "admin call");
  expect(told.map(({ level, fields }) => [level, fields.method, fields.code])).toEqual([
    ["info", "createToken", "ok"],
    ["info", "getToken", "token_not_found"],
    ["info", "getToken", "invalid_token"],
    ["info", "getToken", "invalid_token"],
    ["info", "getToken", "invalid_fields"],
  ]);
  expect(told[0]?.fields).toMatchObject({ admin: "ops", token: "a", tokenId: token?.id });
  expect(told[2]?.fields.admin).toBeUndefined();
  // Who it was, and who tried.
  expect(told.map(({ fields }) => fields.client)).toEqual(Array(5).fill("127.0.0.1"));
  expect(told[4]?.fields.token).toBe("x".repeat(128));
  for (const word of [bearer, own, secret]) expect(JSON.stringify(lines)).not.toContain(word);
});

it("warns of addresses that anybody may write, where every proxy is trusted", async () => {
  const { post } = await administered(`trust_proxy: true\n${adminLines()}`);
  const from = { networks: ["10.0.0.0/8"] };
  const warned = [
    expect.stringMatching(/^trust_proxy is true: whoever reaches the gateway can write/),
  ];
  const made = await post("TokensService/CreateToken", { name: "a", from_addresses: from });
  expect(made.json.warnings).toEqual(warned);
  const lifted = await post("TokensService/UpdateToken", { token: "a", from_addresses: {} });
  expect(lifted.json.warnings ?? []).toEqual([]);
  const again = await post("TokensService/UpdateToken", { token: "a", from_addresses: from });
  expect(again.json.warnings).toEqual(warned);
});
