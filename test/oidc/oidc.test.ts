import { generateKeyPairSync } from "node:crypto";
import { decodeJwt, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { issuerSettings } from "../../src/config/auth.js";
import type { Caller } from "../../src/core/call.js";
import type { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { OidcCallers } from "../../src/oidc/callers.js";
import { valid } from "../config/text.js";
import { coreOf, run } from "../support/core.js";
import { says, scripted } from "../support/scripted.js";
import { Issuer } from "./issuer.js";

let issuer: Issuer;
const open: OidcCallers[] = [];
beforeEach(async () => {
  issuer = new Issuer();
  await issuer.start();
});
afterEach(async () => {
  for (const callers of open.splice(0)) callers.close();
  await issuer.stop();
});

/** Callers as a configuration has them: `more` are further lines of the issuer. */
function callersOf(more = "", log = silent, cooldownMs = 0): OidcCallers {
  const { auth } = valid(`auth:
  mode: token
  oidc:
    - name: corp
      issuer: ${issuer.url}
      audience: [lintel, other]
${more.replace(/^/gm, "      ")}`);
  const callers = new OidcCallers(issuerSettings(auth), log, cooldownMs);
  open.push(callers);
  return callers;
}

/** Whose token it is, whenever it ends, or the error's code and words. */
async function who(callers: OidcCallers, token: string): Promise<Caller | string | undefined> {
  try {
    const found = await callers.find(token);
    if (!found) return undefined;
    const { expiresAt, ...caller } = found;
    expect(expiresAt).toBeGreaterThan(Date.now());
    return caller;
  } catch (error) {
    return `${(error as LintelError).code}: ${(error as LintelError).message}`;
  }
}

test("a token of the issuer is a caller, and is verified once", async () => {
  const callers = callersOf();
  const token = await issuer.sign();
  const { exp = 0 } = decodeJwt(token);
  // So much later it still counts, where the clocks differ.
  const alice = { id: "corp:alice", token: "corp", expiresAt: (exp + 30) * 1000 };
  expect(await callers.find(token)).toEqual(alice);
  expect(callers.find(token)).toEqual(alice);
  expect(await who(callers, await issuer.sign({ aud: ["a", "other"], sub: "bob" }))).toEqual({
    id: "corp:bob",
    token: "corp",
  });
  expect(issuer.asked).toBe(1);
});

test("callers whose ids are alike for as long as an id may be are two callers", async () => {
  const callers = callersOf();
  const branch = `repo:org/repo:ref:refs/heads/${"b".repeat(200)}`;
  const ids = await Promise.all(
    ["1", "2", "1"].map(async (end) => {
      const caller = await callers.find(await issuer.sign({ sub: branch + end }));
      return caller?.id;
    }),
  );
  expect(ids[0]).toHaveLength(200);
  expect(ids[0]).toMatch(/^corp:repo:org\/repo:ref:refs\/heads\/b+#/);
  expect(ids[1]).not.toBe(ids[0]);
  expect(ids[2]).toBe(ids[0]);
});

test.each(["RS256", "PS384", "ES512", "EdDSA"])("signed with %s", async (alg) => {
  await issuer.rotate(alg);
  expect(await who(callersOf(), await issuer.sign())).toMatchObject({ id: "corp:alice" });
});

describe("refused", () => {
  const seconds = (n: number) => Math.floor(Date.now() / 1000) + n;

  test.each<[string, Record<string, unknown>, RegExp]>([
    ["expired", { exp: seconds(-31) }, /expired at \d{4}-.*Z$/],
    ["expired before all dates", { exp: -1e300 }, /expired$/],
    ["for ever", { exp: undefined }, /has no claim exp$/],
    ["not yet", { nbf: seconds(60) }, /does not count yet$/],
    ["another audience", { aud: "elsewhere" }, /meant for another service/],
    ["no audience", { aud: undefined }, /has no claim aud$/],
    ["nobody", { sub: undefined }, /claim sub must say who calls$/],
    ["an empty text as who", { sub: "" }, /claim sub must say who calls$/],
    ["something as who", { sub: { a: 1 } }, /claim sub must say who calls$/],
  ])("%s", async (_what, claims, words) => {
    const said = await who(callersOf(), await issuer.sign(claims));
    expect(said).toMatch(/^invalid_token: the bearer token/);
    expect(said).toMatch(words);
  });

  test("within the clocks' tolerance it is not", async () => {
    const claims = { exp: seconds(-20), nbf: seconds(20) };
    const callers = callersOf();
    const token = await issuer.sign(claims);
    // Also as one that was verified before.
    for (let i = 0; i < 2; i++) {
      expect(await who(callers, token)).toMatchObject({ id: "corp:alice" });
    }
    const strict = callersOf("clock_tolerance: 0s");
    expect(await who(strict, await issuer.sign(claims))).toMatch("invalid_token");
  });

  test("no signature, a secret instead of a key, a wrong signature, a key of somebody else", async () => {
    const callers = callersOf();
    const claims = { iss: issuer.url, aud: "lintel", sub: "eve", exp: seconds(60) };
    const none = new UnsecuredJWT(claims).encode();
    const secret = await new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256" })
      .sign(Buffer.from("0123456789abcdef0123456789abcdef"));
    for (const token of [none, secret]) {
      expect(await who(callers, token)).toBe(
        "invalid_token: the bearer token is signed by an algorithm that does not count",
      );
    }
    const key = await generateKeyPair("ES256");
    expect(await who(callers, await issuer.sign({}, { key }))).toMatch(
      "has a signature that is not",
    );
    expect(await who(callers, await issuer.sign({}, { key, kid: "x" }))).toMatch(
      "signed with a key that its issuer does not have",
    );
    const token = await issuer.sign();
    expect(await who(callers, `${token.slice(0, -30)}AAAA${token.slice(-26)}`)).toMatch(
      "invalid_token",
    );
    expect(await who(callers, "eyJhbGciOiJFUzI1NiJ9.AAAA.AAAA")).toBeUndefined();
  });

  test("an algorithm that the operator does not want, an issuer that is not known", async () => {
    expect(await who(callersOf("algorithms: [RS256]"), await issuer.sign())).toMatch(
      "algorithm that does not count",
    );
    const other = await issuer.sign({ iss: "https://elsewhere.example" });
    expect(await who(callersOf(), other)).toBeUndefined();
  });

  test("a token that is longer than any needs to be is not looked at", async () => {
    const callers = callersOf();
    expect(callers.find(await issuer.sign({ more: "x".repeat(20_000) }))).toBeUndefined();
    expect(issuer.asked).toBe(0);
  });

  test("a token that was verified, once it expires", async () => {
    const callers = callersOf("clock_tolerance: 0s");
    const now = vi.spyOn(Date, "now");
    const token = await issuer.sign({ exp: seconds(60) });
    expect(await who(callers, token)).toMatchObject({ id: "corp:alice" });
    now.mockReturnValue(Date.now() + 60_000);
    expect(await who(callers, token)).toMatch("the bearer token expired at");
    now.mockRestore();
  });
});

describe("keys", () => {
  test("a new key is found, a key that is gone does not count any more", async () => {
    const callers = callersOf();
    const first = await issuer.sign();
    await callers.find(first);
    await issuer.rotate("RS256");
    const second = await issuer.sign({ sub: "bob" });
    expect(await who(callers, second)).toMatchObject({ id: "corp:bob" });
    expect(await who(callers, first)).toMatchObject({ id: "corp:alice" });
    await issuer.rotate("ES256", true);
    expect(await who(callers, await issuer.sign({ sub: "eve" }))).toMatchObject({ id: "corp:eve" });
    expect(await who(callers, first)).toMatch("key that its issuer does not have");
  });

  test("tokens that name no key are tried with each of the issuer's that fit", async () => {
    const none = { kid: null };
    const alone = await issuer.sign({ sub: "alone" }, none);
    await issuer.rotate();
    const callers = callersOf();
    const token = await issuer.sign({ sub: "bob" }, none);
    expect(await who(callers, alone)).toMatchObject({ id: "corp:alone" });
    expect(await who(callers, token)).toMatchObject({ id: "corp:bob" });
    expect(callers.find(token)).toMatchObject({ id: "corp:bob" });
    expect(await who(callers, await issuer.sign({ aud: "elsewhere" }, none))).toMatch(
      "meant for another service",
    );
    const key = await generateKeyPair("ES256");
    expect(await who(callers, await issuer.sign({}, { ...none, key }))).toMatch(
      "has a signature that is not right",
    );
  });

  test("a key that is too short keeps no token from another that fits", async () => {
    await issuer.rotate("RS256", true);
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
    issuer.others.push({ ...publicKey.export({ format: "jwk" }), kid: "short" });
    const callers = callersOf();
    expect(await who(callers, await issuer.sign({}, { kid: null }))).toMatchObject({
      id: "corp:alice",
    });
    expect(await who(callers, await issuer.sign({}, { kid: "short" }))).toBe(
      "invalid_token: the bearer token is signed with a key that can't be used",
    );
  });

  test("a new key is found for tokens that name none, too", async () => {
    const none = { kid: null };
    const callers = callersOf();
    await callers.find(await issuer.sign({}, none));
    await issuer.rotate();
    expect(await who(callers, await issuer.sign({ sub: "bob" }, none))).toMatchObject({
      id: "corp:bob",
    });
    await issuer.rotate();
    expect(await who(callers, await issuer.sign({ sub: "eve" }, none))).toMatchObject({
      id: "corp:eve",
    });
  });

  test("a token that is being verified while the keys change is verified again", async () => {
    const callers = callersOf();
    await callers.find(await issuer.sign());
    const token = await issuer.sign({ sub: "bob" });
    const verify = vi.spyOn(crypto.subtle, "verify");
    onTestFinished(() => verify.mockRestore());
    verify.mockImplementationOnce(async (...args) => {
      await issuer.rotate("ES256", true);
      await callers.find(await issuer.sign({ sub: "eve" }));
      return crypto.subtle.verify(...args);
    });
    expect(await who(callers, token)).toMatchObject({ id: "corp:bob" });
    expect(await who(callers, token)).toMatch("key that its issuer does not have");
  });

  test("tokens with invented keys don't make it ask again and again", async () => {
    const callers = callersOf("", silent, 60_000);
    await callers.find(await issuer.sign());
    const { asked } = issuer;
    const key = await generateKeyPair("ES256");
    for (let i = 0; i < 20; i++) {
      expect(await who(callers, await issuer.sign({}, { kid: `x${i}` }))).toMatch("invalid_token");
      expect(await who(callers, await issuer.sign({}, { kid: null, key }))).toMatch("not right");
    }
    expect(issuer.asked).toBe(asked);
  });

  test("a wrong signature of a key that is known is no reason to ask for others", async () => {
    const callers = callersOf();
    await callers.find(await issuer.sign());
    const { asked } = issuer;
    const key = await generateKeyPair("ES256");
    expect(await who(callers, await issuer.sign({}, { key }))).toMatch("not right");
    expect(issuer.asked).toBe(asked);
  });

  test("away: known keys go on, tokens with others wait for the issuer; one line, and it comes back", async () => {
    const log = { ...silent, warn: vi.fn(), info: vi.fn() };
    const callers = callersOf("refresh: 20ms", log);
    await callers.find(await issuer.sign());
    await issuer.stop();
    await vi.waitUntil(() => log.warn.mock.calls.length > 0);
    expect(await who(callers, await issuer.sign({ sub: "bob" }))).toMatchObject({ id: "corp:bob" });
    await issuer.rotate();
    const fresh = await issuer.sign({ sub: "eve" });
    expect(await who(callers, fresh)).toBe("unavailable: the bearer token can't be checked now");
    await issuer.start();
    await vi.waitUntil(() => log.info.mock.calls.length > 0);
    expect(await who(callers, fresh)).toMatchObject({ id: "corp:eve" });
    expect(log.warn).toHaveBeenCalledTimes(1);
    expect(log.warn.mock.calls[0]?.[1]).toMatch("those that are known go on counting");
  });

  test("that are read again and are the same verify nothing again", async () => {
    const callers = callersOf();
    const token = await issuer.sign();
    const caller = await callers.find(token);
    const { asked } = issuer;
    await who(callers, await issuer.sign({}, { kid: "x" }));
    expect(issuer.asked).toBeGreaterThan(asked);
    expect(callers.find(token)).toEqual(caller);
  });

  test("away: callers don't wait for it one after the other; it is asked again after 5 seconds", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const now = vi.spyOn(performance, "now").mockReturnValue(performance.now());
    onTestFinished(() => now.mockRestore());
    const log = { ...silent, info: vi.fn() };
    issuer.status = 500;
    const callers = callersOf(`refresh: 1h\njwks_url: ${issuer.url}/keys`, log, 60_000);
    const token = await issuer.sign();
    for (let i = 0; i < 10; i++) expect(await who(callers, token)).toMatch("unavailable");
    expect(issuer.asked).toBe(1);
    issuer.status = 200;
    vi.advanceTimersByTime(5000);
    await vi.waitFor(() => expect(log.info).toHaveBeenCalledTimes(1));
    expect(await who(callers, token)).toMatchObject({ id: "corp:alice" });
  });

  test.each([
    ["a key that is new", 200, 60_000],
    ["an issuer that was away", 500, 1000],
  ])(
    "who comes while they are read for another waits for them, too: %s",
    async (_, status, later) => {
      // Whole: a fraction's sum with `later` may be a bit less than that later.
      let time = Math.floor(performance.now());
      const now = vi.spyOn(performance, "now").mockImplementation(() => time);
      onTestFinished(() => now.mockRestore());
      issuer.status = status;
      const callers = callersOf(`refresh: 1h\njwks_url: ${issuer.url}/keys`, silent, 60_000);
      await who(callers, await issuer.sign());
      const { asked } = issuer;
      issuer.status = 200;
      await issuer.rotate();
      time += later;
      const tokens = [await issuer.sign({ sub: "a" }), await issuer.sign({ sub: "b" })];
      const said = await Promise.all(tokens.map((token) => who(callers, token)));
      expect(said).toMatchObject([{ id: "corp:a" }, { id: "corp:b" }]);
      expect(issuer.asked).toBe(asked + 1);
    },
  );

  test("away: a token with another key can't be checked, however lately it was asked for them", async () => {
    const log = { ...silent, warn: vi.fn() };
    const callers = callersOf("refresh: 20ms", log, 60_000);
    await callers.find(await issuer.sign());
    issuer.status = 500;
    await vi.waitUntil(() => log.warn.mock.calls.length > 0);
    await issuer.rotate();
    expect(await who(callers, await issuer.sign())).toMatch("unavailable");
  });

  test("are read no more once it is closed, also where that comes while they are", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const fetched = vi.spyOn(globalThis, "fetch");
    onTestFinished(() => fetched.mockRestore());
    const callers = callersOf(`refresh: 1h\njwks_url: ${issuer.url}/keys`);
    callers.start();
    callers.close();
    expect(await who(callers, await issuer.sign())).toMatchObject({ id: "corp:alice" });
    vi.advanceTimersByTime(3_600_000);
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  test("away: it is asked again also where that comes sooner than callers may ask", async () => {
    const log = { ...silent, warn: vi.fn(), info: vi.fn() };
    issuer.status = 500;
    callersOf("refresh: 20ms", log, 10_000).start();
    await vi.waitUntil(() => log.warn.mock.calls.length > 0);
    issuer.status = 200;
    await vi.waitUntil(() => log.info.mock.calls.length > 0);
  });

  test("away at start, also when it answers nonsense", async () => {
    const log = { ...silent, warn: vi.fn() };
    issuer.status = 500;
    const callers = callersOf("refresh: 20ms", log);
    callers.start();
    const token = await issuer.sign();
    expect(await who(callers, token)).toMatch("unavailable");
    issuer.status = 200;
    issuer.claimed = "https://elsewhere.example";
    expect(await who(callers, token)).toMatch("unavailable");
    issuer.claimed = undefined;
    await vi.waitUntil(async () => typeof (await who(callers, token)) === "object");
    expect(log.warn).toHaveBeenCalledTimes(1);
    expect(log.warn.mock.calls[0]?.[1]).toMatch("its tokens are refused until they can");
  });

  test("away: whoever takes over after a reload is away from the start, and says it no second time", async () => {
    const log = { ...silent, warn: vi.fn(), info: vi.fn() };
    issuer.status = 500;
    const before = callersOf("", log);
    const token = await issuer.sign();
    expect(await who(before, token)).toMatch("unavailable");
    const callers = callersOf("", log);
    callers.takeOver(before);
    before.close();
    expect(callers.states()).toEqual([{ name: "corp", away: true }]);
    expect(await who(callers, token)).toMatch("unavailable");
    expect(log.warn).toHaveBeenCalledTimes(1);
    issuer.status = 200;
    expect(await who(callers, token)).toMatchObject({ id: "corp:alice" });
    expect(log.info).toHaveBeenCalledTimes(1);
  });

  test("away: a discovery document that does not say where they are is told", async () => {
    const log = { ...silent, warn: vi.fn() };
    issuer.tellsKeys = false;
    const callers = callersOf("", log);
    expect(await who(callers, await issuer.sign())).toMatch("unavailable");
    expect(log.warn.mock.calls).toEqual([
      [
        { issuer: "corp", error: expect.stringContaining("has no jwks_uri") },
        expect.stringContaining("its tokens are refused until they can"),
      ],
    ]);
    expect(issuer.asked).toBe(0);
  });

  test("away: the log says why also where each of its addresses refuses", async () => {
    const log = { ...silent, warn: vi.fn() };
    const refused = ["::1", "127.0.0.1"].map((it) => new Error(`connect ECONNREFUSED ${it}:443`));
    // As Node says it of a name with several addresses, which not every machine has.
    const cause = new AggregateError(refused);
    const fetch = vi
      .spyOn(globalThis, "fetch")
      .mockRejectedValue(new TypeError("fetch failed", { cause }));
    onTestFinished(() => fetch.mockRestore());
    expect(await who(callersOf("", log), await issuer.sign())).toMatch("unavailable");
    const error = "fetch failed: connect ECONNREFUSED ::1:443";
    expect(log.warn).toHaveBeenCalledWith({ issuer: "corp", error }, expect.any(String));
  });

  test.each(["/.well-known/openid-configuration", "/keys"])(
    "are not read where %s leads elsewhere",
    async (path) => {
      const log = { ...silent, warn: vi.fn() };
      issuer.moved = `/realm${path}`;
      expect(await who(callersOf("", log), await issuer.sign())).toMatch("unavailable");
      const error = expect.stringContaining("redirect");
      expect(log.warn).toHaveBeenCalledWith({ issuer: "corp", error }, expect.any(String));
      issuer.moved = undefined;
      expect(await who(callersOf(), await issuer.sign())).toMatchObject({ id: "corp:alice" });
    },
  );

  test("documents of more than 1 MiB are none, the log says so", async () => {
    const log = { ...silent, warn: vi.fn() };
    issuer.blanks = 1024 * 1024;
    expect(await who(callersOf("", log), await issuer.sign())).toMatch("unavailable");
    const document = `${issuer.url}/.well-known/openid-configuration`;
    const error = `${document} answers with more than 1 MiB`;
    expect(log.warn).toHaveBeenCalledWith({ issuer: "corp", error }, expect.any(String));
    issuer.blanks -= 10_000;
    expect(await who(callersOf(), await issuer.sign())).toMatchObject({ id: "corp:alice" });
  });

  test("are found also where the issuer's name ends with a slash", async () => {
    issuer.url += "/";
    expect(await who(callersOf(), await issuer.sign())).toMatchObject({ id: "corp:alice" });
  });

  test("at an address of their own there is no discovery", async () => {
    issuer.claimed = "https://elsewhere.example";
    const callers = callersOf(`jwks_url: ${issuer.url}/keys`);
    expect(await who(callers, await issuer.sign())).toMatchObject({ id: "corp:alice" });
  });
});

describe("claims", () => {
  const mapping = `claims:
  id: email
  models: https://lintel.example/models
  team: lintel.team
  requests_per_minute: lintel.rpm
  concurrent: lintel.concurrent
rules:
  - { claim: realm.roles, value: admin, team: admins, limits: { requests_per_minute: unlimited } }
  - { claim: email_verified, value: "true", models: [large] }
  - { claim: department, value: Research and Art, models: [image-2] }
  - { claim: scope, value: images, models: [image-1], limits: { images_per_day: 5 } }
models: [small]
team: staff
limits: { requests_per_minute: 10, tokens_per_minute: 1000 }`;

  test.each<[string, Record<string, unknown>, unknown]>([
    [
      "what the issuer's callers get",
      {},
      {
        models: ["small"],
        team: "staff",
        limits: { requestsPerMinute: 10, tokensPerMinute: 1000 },
      },
    ],
    [
      "what they get also where there is no claim at the end of its way",
      { lintel: null, realm: "admin" },
      {
        models: ["small"],
        team: "staff",
        limits: { requestsPerMinute: 10, tokensPerMinute: 1000 },
      },
    ],
    [
      "claims before what is given to all",
      {
        "https://lintel.example/models": "a, b*",
        lintel: { rpm: 0, concurrent: "2", team: "red" },
      },
      {
        models: ["a", "b*"],
        team: "red",
        limits: { requestsPerMinute: 0, tokensPerMinute: 1000, concurrent: 2 },
      },
    ],
    [
      "a rule by one of several values",
      { realm: { roles: ["user", "admin"] } },
      { team: "admins", limits: { requestsPerMinute: Number.POSITIVE_INFINITY } },
    ],
    [
      "a team before that of the rule, also as a list of one",
      { realm: { roles: ["admin"] }, lintel: { team: ["red"] } },
      { team: "red", limits: { requestsPerMinute: Number.POSITIVE_INFINITY } },
    ],
    ["a rule by what is no text", { email_verified: true }, { models: ["large"] }],
    [
      "no rule by what is not so",
      { email_verified: false, scope: "images" },
      { models: ["image-1"], limits: { imagesPerDay: 5 } },
    ],
    [
      "a rule by a text with blanks in it",
      { department: "Research and Art" },
      { models: ["image-2"] },
    ],
    [
      "a rule by a scope, and no model at all by a claim",
      { scope: "openid images", "https://lintel.example/models": [] },
      { models: [], limits: { imagesPerDay: 5 } },
    ],
  ])("%s", async (_what, claims, expected) => {
    const token = await issuer.sign({ email: "al@corp.example", ...claims });
    expect(await who(callersOf(mapping), token)).toEqual({
      id: "corp:al@corp.example",
      token: "corp",
      ...(expected as object),
    });
  });

  test.each([2 ** 63, "9223372036854775807", 1e300])(
    "a limit of %s, as of none, is one that stores can tell",
    async (rpm) => {
      const token = await issuer.sign({ email: "a", lintel: { rpm } });
      expect(await who(callersOf(mapping), token)).toMatchObject({
        limits: { requestsPerMinute: Number.MAX_SAFE_INTEGER },
      });
    },
  );

  test("a claim that is not what it has to be lets nobody in", async () => {
    const sign = (claims: object) => issuer.sign({ email: "a", ...claims });
    const callers = callersOf(mapping);
    for (const rpm of [-1, 1.5, "many", "", null, {}]) {
      expect(await who(callers, await sign({ lintel: { rpm } }))).toBe(
        "invalid_token: the bearer token's claim lintel.rpm must be a whole number, 0 or more",
      );
    }
    for (const team of ["", null, 1, [], ["a", "b"], [1]]) {
      expect(await who(callers, await sign({ lintel: { team } }))).toBe(
        "invalid_token: the bearer token's claim lintel.team must be the name of one team",
      );
    }
    expect(await who(callers, await sign({ "https://lintel.example/models": [1] }))).toMatch(
      "must be a list of models",
    );
    expect(await who(callers, await sign({ "https://lintel.example/models": "a *b*" }))).toMatch(
      "must have at most one * in each model",
    );
  });

  test("callers that no rule fits can be refused", async () => {
    const callers = callersOf(`rules: [{ claim: groups, value: ai }]\notherwise: refuse`);
    expect(await who(callers, await issuer.sign({ groups: ["ai"] }))).toMatchObject({
      id: "corp:alice",
    });
    expect(await who(callers, await issuer.sign({ groups: ["ais"] }))).toBe(
      "invalid_token: the bearer token's holder is not let in here",
    );
  });
});

test("beside opaque tokens, through the core", async () => {
  const secret = createToken();
  const core = coreOf(
    [scripted({ chat: says("hi") })],
    { auth: { mode: "token", tokens: [{ name: "bob", hash: hashToken(secret) }] } },
    { callers: [callersOf("models: [other]")] },
  );
  const as = (credential: string) =>
    run(core, "complete", { messages: [{ role: "user", content: "x" }] }, { credential });
  expect(await as(secret)).toHaveLength(1);
  await expect(as(await issuer.sign())).rejects.toMatchObject({ code: "model_not_allowed" });
});
