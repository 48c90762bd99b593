/** Callers of an issuer make tokens for themselves, through whole gateways. */
import { Code, createClient } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";
import { TokensService } from "../../gen/lintel/v1/tokens_pb.js";
import { adminLines, as, secret as ops } from "../admin/gateway.js";
import { faultsOf, faultsOfAnswer } from "../doors/openapi-document.js";
import { transportOf, wires } from "../doors/rpc-server.js";
import { eachWithGateway } from "./making.js";

const corp = eachWithGateway();
const { served } = corp;

/** The token of somebody who signed in. */
const jwt = (sub = "ann", more: object = {}) => corp.issuer.sign({ sub, ...more });

test("a caller makes, lists and ends tokens, each of which is the caller", async () => {
  const it = await served(`own_tokens: { max: 3, max_ttl: 10d }
rules: [{ claim: groups, value: dev, models: [small], team: red, limits: { requests_per_minute: 9 } }]
otherwise: refuse`);
  const ann = await jwt("ann", { groups: ["dev", "others"] });
  const body = { name: "laptop", ttl_seconds: 3600 };
  expect(faultsOf("CreateTokenRequest", body)).toEqual([]);
  const before = Date.now();
  const made = await it.call("POST", "/account/tokens", ann, body);
  expect([made.status, faultsOfAnswer("MadeToken", made.json)]).toEqual([200, []]);
  const { token, secret } = made.json;
  expect(secret).toMatch(/^lt_[\w-]{43}$/);
  expect(token).toMatchObject({ id: expect.stringMatching(/^tok_/), name: "laptop" });
  const ends = Date.parse(token.expires_at);
  expect(ends).toBeGreaterThanOrEqual(before + 3_600_000);
  expect(ends).toBeLessThanOrEqual(Date.now() + 3_600_000);

  const { secret: another, id } = await it.make(ann, "ci");
  const { json: list } = await it.call("GET", "/account/tokens", ann);
  expect(faultsOfAnswer("Tokens", list)).toEqual([]);
  expect(list).toMatchObject({ max_tokens: 3, max_ttl_seconds: 864_000 });
  expect(list.tokens).toEqual([token, expect.objectContaining({ id, name: "ci" })]);
  const longest = Date.parse(list.tokens[1].expires_at) - Date.parse(list.tokens[1].created_at);
  expect(Math.abs(longest - 864_000_000)).toBeLessThan(1000);

  const account = async (credential: string) => (await it.call("GET", "/account", credential)).json;
  const { token: issuer, expires_at, ...same } = await account(ann);
  expect([issuer, same.caller, same.team, same.models]).toEqual([
    "corp",
    "corp:ann",
    "red",
    ["small"],
  ]);
  expect(await account(secret)).toEqual({ ...same, token: token.id, expires_at: token.expires_at });
  expect(expires_at).not.toBe(token.expires_at);
  expect(await it.calls(secret)).toBe(200);
  expect(await it.calls(secret, "large")).toBe(403);

  const ended = await it.call("DELETE", "/account/tokens/laptop", ann);
  expect([ended.status, faultsOfAnswer("EndedToken", ended.json)]).toEqual([200, []]);
  expect(ended.json.token.id).toBe(token.id);
  expect(await it.calls(secret)).toBe(401);
  expect(await it.calls(another)).toBe(200);
  expect((await it.call("DELETE", `/account/tokens/${id}`, ann)).status).toBe(200);
  expect(await it.calls(another)).toBe(401);
});

test.each(wires)("by %s", async (wire) => {
  const it = await served("own_tokens: { max: 1 }");
  const client = createClient(TokensService, transportOf(wire, it.url, onTestFinished));
  const ann = as(await jwt());
  const { token, secret } = await client.createToken({ name: "laptop" }, ann);
  expect(await it.calls(secret)).toBe(200);
  expect(await client.listTokens({}, ann)).toMatchObject({
    tokens: [token],
    maxTokens: 1,
    maxTtlSeconds: 30 * 86_400,
  });
  const refused = (asked: Promise<unknown>) => asked.then(String, ({ code }) => Code[code]);
  expect(await refused(client.createToken({ name: "ci" }, ann))).toBe("FailedPrecondition");
  expect(await refused(client.createToken({ name: "" }, ann))).toBe("InvalidArgument");
  expect(await refused(client.createToken({ name: "ci" }, as(secret)))).toBe("PermissionDenied");
  expect((await client.revokeToken({ token: "laptop" }, ann)).token?.id).toBe(token?.id);
  expect(await refused(client.revokeToken({ token: "laptop" }, ann))).toBe("NotFound");
});

test("what all tokens of a caller use counts for the caller, and is told apart by their ids", async () => {
  const it = await served("own_tokens: {}\nlimits: { requests_per_minute: 3 }", adminLines());
  const ann = await jwt();
  const [one, two] = [await it.make(ann, "one"), await it.make(ann, "two")];
  for (const token of [ann, one.secret, two.secret]) expect(await it.calls(token)).toBe(200);
  for (const token of [ann, one.secret, two.secret]) expect(await it.calls(token)).toBe(429);
  expect(await it.calls(await jwt("bob"))).toBe(200);
  const { said } = it;
  const line = (await said("call")).fields;
  expect(line.caller).toBe("corp:ann");
  const usage = async (...by: string[]) => {
    const { json } = await it.call("POST", "/lintel.admin.v1.UsageService/QueryUsage", ops, {
      group_by: by,
    });
    return json.rows.map(({ group, calls }: { group: object; calls: string }) => ({
      ...group,
      calls: Number(calls),
    }));
  };
  expect(await usage("token")).toEqual([
    { token: "corp:ann", calls: 6 },
    { token: "corp:bob", calls: 1 },
  ]);
  const apart = await usage("token", "token_id");
  expect(apart).toHaveLength(4);
  for (const token_id of ["corp", one.id, two.id]) {
    expect(apart).toContainEqual({ token: "corp:ann", token_id, calls: 2 });
  }
});

describe("who may make none is told so", () => {
  const paths: [string, string, object?][] = [
    ["POST", "/account/tokens", { name: "more" }],
    ["GET", "/account/tokens"],
    ["DELETE", "/account/tokens/laptop"],
  ];

  test.each(paths)("%s %s", async (method, path, body) => {
    const it = await served();
    const { secret } = await it.make(await jwt(), "laptop");
    const { status, json } = await it.call(method, path, secret, body);
    expect([status, json.error.code]).toEqual([403, "tokens_not_allowed"]);
    expect(json.error.message).toMatch(
      /^a token makes, lists and ends no tokens: that takes a JWT/,
    );
    expect(await it.calls(secret)).toBe(200);
    const nobody = await it.call(method, path, "other", body);
    expect([nobody.status, nobody.json.error.code]).toEqual([401, "invalid_token"]);
  });

  test.each(paths)("%s %s where no issuer has own_tokens", async (method, path, body) => {
    const it = await served("");
    const { status, json } = await it.call(method, path, await jwt(), body);
    expect([status, json.error.code]).toEqual([403, "tokens_not_allowed"]);
    expect(json.error.message).toMatch(/of an issuer with own_tokens in the configuration$/);
  });

  test("with an issued token, too", async () => {
    const it = await served("own_tokens: {}", adminLines());
    const { json } = await it.call("POST", "/lintel.admin.v1.TokensService/CreateToken", ops, {
      name: "issued",
    });
    const { status } = await it.call("POST", "/account/tokens", json.secret, { name: "more" });
    expect(status).toBe(403);
    expect(await it.calls(json.secret)).toBe(200);
  });
});

test.each<[string, object, number, string, RegExp]>([
  ["no name", {}, 422, "invalid_fields", /^name: must not be empty/],
  ["a name of another kind", { name: 1 }, 422, "invalid_fields", /^name: must be a string/],
  [
    "an id as its name",
    { name: "tok_a" },
    422,
    "invalid_fields",
    /^name: must not begin with tok_/,
  ],
  ["blanks around it", { name: " a" }, 422, "invalid_fields", /^name: must not begin or end/],
  [
    "too long a time",
    { name: "a", ttl_seconds: 61 },
    422,
    "invalid_fields",
    /^ttl_seconds: must be at most 60 here/,
  ],
  [
    "a time before now",
    { name: "a", ttl_seconds: -1 },
    422,
    "invalid_fields",
    /^ttl_seconds: must be at least 0/,
  ],
  [
    "a name that is taken",
    { name: "laptop" },
    409,
    "already_exists",
    /^you have a token called "laptop" already/,
  ],
])("%s is refused", async (_what, body, status, code, words) => {
  const it = await served("own_tokens: { max: 2, max_ttl: 1m }");
  const ann = await jwt();
  await it.make(ann, "laptop");
  const refused = await it.call("POST", "/account/tokens", ann, body);
  expect([refused.status, refused.json.error.code]).toEqual([status, code]);
  expect(refused.json.error.message).toMatch(words);
});

test("one more than there may be is refused, and one of nobody's or another's not found", async () => {
  const it = await served("own_tokens: { max: 1 }");
  const [ann, bob] = [await jwt(), await jwt("bob")];
  const { id } = await it.make(ann, "laptop");
  const more = await it.call("POST", "/account/tokens", ann, { name: "more" });
  expect([more.status, more.json.error.code]).toEqual([400, "failed_precondition"]);
  expect(more.json.error.message).toMatch(/^you have 1 token already/);
  for (const which of ["laptop", id, `lt_${"a".repeat(43)}`]) {
    const { status, json } = await it.call("DELETE", `/account/tokens/${which}`, bob);
    expect([status, json.error.code]).toEqual([404, "token_not_found"]);
    expect(json.error.message).not.toContain("lt_");
  }
  const long = await it.call("DELETE", `/account/tokens/${"n".repeat(129)}`, bob);
  expect(long.json.detail).toMatchObject([{ loc: ["path", "token"] }]);
  const { secret } = await it.make(bob, "a/b ü".repeat(20));
  const path = `/account/tokens/${encodeURIComponent("a/b ü".repeat(20))}`;
  expect((await it.call("DELETE", path, bob)).status).toBe(200);
  expect(await it.calls(secret)).toBe(401);
});

describe("what the configuration says later holds for tokens that were made before", () => {
  const refusal = async (it: Awaited<ReturnType<typeof served>>, token: string) => {
    const { status, json } = await it.call("GET", "/account", token);
    return `${status} ${json.error?.message ?? json.models}`;
  };

  test("rules, by the claims that the JWT had", async () => {
    const rules = (models: string, more = "") =>
      `own_tokens: {}\nrules: [{ claim: realm.groups, value: dev, models: [${models}] ${more}}]\notherwise: refuse`;
    const it = await served(rules("small"));
    const { secret } = await it.make(await jwt("ann", { realm: { groups: ["dev"] } }), "laptop");
    expect(await refusal(it, secret)).toBe("200 small");
    await it.changed(rules("large"));
    expect(await refusal(it, secret)).toBe("200 large");
    await it.changed(rules("large", ", from: [192.0.2.0/24]"));
    expect(await refusal(it, secret)).toMatch(/^403 this token may not be used from this address/);
    await it.changed("own_tokens: {}\notherwise: refuse");
    expect(await refusal(it, secret)).toMatch(
      /^401 the bearer token's owner is not let in any more: .*not let in here$/,
    );
    await it.changed(rules("small"));
    expect(await refusal(it, secret)).toBe("200 small");
  });

  test("the end of own_tokens, of the issuer, and another name of it", async () => {
    const it = await served();
    const { secret } = await it.make(await jwt(), "laptop");
    await it.changed("");
    expect(await refusal(it, secret)).toMatch(
      /^401 .*its issuer lets nobody make tokens here now$/,
    );
    await it.changed("own_tokens: {}\nclaims: { id: email }");
    expect(await refusal(it, secret)).toMatch(/^401 .*claim email must say who calls$/);
    await it.changed("own_tokens: {}");
    expect(await refusal(it, secret)).toBe("200 *");
  });
});

test("a token counts for nobody whom its issuer's callers are called like only later", async () => {
  const rules = "own_tokens: {}\nrules: [{ claim: uid, value: bob }]";
  const it = await served(rules);
  const { secret } = await it.make(await jwt("ann", { uid: "bob" }), "laptop");
  expect(await it.calls(secret)).toBe(200);
  await it.changed(`${rules}\nclaims: { id: uid }`);
  expect(await it.calls(secret)).toBe(401);
});

test("administrators see whose they are, end them, and change none", async () => {
  const it = await served("own_tokens: {}\nmodels: [small]", adminLines());
  const admin = (method: string, body: object) =>
    it.call("POST", `/lintel.admin.v1.TokensService/${method}`, ops, body);
  const { id, secret } = await it.make(await jwt(), "laptop");
  await it.make(await jwt("bob"), "laptop");
  await admin("CreateToken", { name: "laptop" });
  const { json } = await admin("ListTokens", {});
  expect(
    json.tokens.map(({ name, owner }: { name: string; owner: string }) => [name, owner]),
  ).toEqual([
    ["laptop", "corp:ann"],
    ["laptop", "corp:bob"],
    ["laptop", ""],
  ]);
  const { json: hers } = await admin("ListTokens", { owner: "corp:ann" });
  expect(hers.tokens).toMatchObject([{ id, models: [], state: "STATE_ACTIVE" }]);
  for (const method of ["UpdateToken", "RotateToken"]) {
    const refused = await admin(method, { token: id, expiry: { never: true } });
    expect([refused.status, refused.json.code]).toEqual([400, "failed_precondition"]);
    expect(refused.json.message).toContain('"corp:ann" made the token');
  }
  expect(await it.calls(secret)).toBe(200);
  expect((await admin("RevokeToken", { token: "laptop" })).json.token.owner).toBe("");
  expect((await admin("RevokeToken", { token: "laptop" })).status).toBe(404);
  expect(await it.calls(secret)).toBe(200);
  expect((await admin("RevokeToken", { token: id })).json.token.owner).toBe("corp:ann");
  expect(await it.calls(secret)).toBe(401);
});

test("the log tells of each change, however few calls are logged, and of no secret", async () => {
  const it = await served("own_tokens: {}", "log: { sample: 0 }");
  const ann = await jwt();
  const { id, secret } = await it.make(ann, "laptop");
  await it.call("DELETE", "/account/tokens/laptop", ann);
  const about = { door: "rest", caller: "corp:ann", token: "laptop", tokenId: id };
  expect((await it.said("a caller made a token for itself")).fields).toMatchObject({
    ...about,
    id: expect.any(String),
    method: "createToken",
  });
  expect((await it.said("a caller ended a token of its own")).fields).toMatchObject({
    ...about,
    method: "revokeToken",
  });
  expect(JSON.stringify(it.lines)).not.toContain(secret);
});
