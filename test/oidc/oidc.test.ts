/** Tokens of an issuer let callers in. */
import { decodeJwt, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, test, vi } from "vitest";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { coreOf, run } from "../support/core.js";
import { says, scripted } from "../support/scripted.js";
import { eachWithIssuer, who } from "./corp.js";

const corp = eachWithIssuer();
const { callersOf } = corp;

test("a token of the issuer is a caller, and is verified once", async () => {
  const callers = callersOf();
  const token = await corp.issuer.sign();
  const { exp = 0 } = decodeJwt(token);
  // So much later it still counts, where the clocks differ.
  const alice = { id: "corp:alice", token: "corp", expiresAt: (exp + 30) * 1000 };
  expect(await callers.find(token)).toEqual(alice);
  expect(callers.find(token)).toEqual(alice);
  expect(await who(callers, await corp.issuer.sign({ aud: ["a", "other"], sub: "bob" }))).toEqual({
    id: "corp:bob",
    token: "corp",
  });
  expect(corp.issuer.asked).toBe(1);
});

test("callers whose ids are alike for as long as an id may be are two callers", async () => {
  const callers = callersOf();
  const branch = `repo:org/repo:ref:refs/heads/${"b".repeat(200)}`;
  const ids = await Promise.all(
    ["1", "2", "1"].map(async (end) => {
      const caller = await callers.find(await corp.issuer.sign({ sub: branch + end }));
      return caller?.id;
    }),
  );
  expect(ids[0]).toHaveLength(200);
  expect(ids[0]).toMatch(/^corp:repo:org\/repo:ref:refs\/heads\/b+#/);
  expect(ids[1]).not.toBe(ids[0]);
  expect(ids[2]).toBe(ids[0]);
});

test.each(["RS256", "PS384", "ES512", "EdDSA"])("signed with %s", async (alg) => {
  await corp.issuer.rotate(alg);
  expect(await who(callersOf(), await corp.issuer.sign())).toMatchObject({ id: "corp:alice" });
});

describe("refused", () => {
  const seconds = (n: number) => Math.floor(Date.now() / 1000) + n;

  test.each<[string, Record<string, unknown>, RegExp]>([
    ["expired", { exp: seconds(-31) }, /expired at \d{4}-.*Z$/],
    ["expired before all dates", { exp: -1e300 }, /expired$/],
    ["for ever", { exp: undefined }, /has no claim exp$/],
    ["not yet", { nbf: seconds(60) }, /does not count yet$/],
    ["another audience", { aud: "elsewhere" }, /meant for another service: its claim aud/],
    ["another audience in a list", { aud: ["elsewhere", 1] }, /its claim aud does not fit$/],
    ["no audience in a list", { aud: [] }, /its claim aud does not fit$/],
    ["no audience", { aud: undefined }, /has no claim aud$/],
    [
      "no audience, of another client",
      { aud: undefined, client_id: "elsewhere" },
      /meant for another service: its claim client_id does not fit$/,
    ],
    [
      "another audience, of a client of ours",
      { aud: "elsewhere", client_id: "lintel" },
      /its claim aud does not fit$/,
    ],
    ["nobody", { sub: undefined }, /claim sub must say who calls$/],
    ["an empty text as who", { sub: "" }, /claim sub must say who calls$/],
    ["something as who", { sub: { a: 1 } }, /claim sub must say who calls$/],
  ])("%s", async (_what, claims, words) => {
    const said = await who(callersOf(), await corp.issuer.sign(claims));
    expect(said).toMatch(/^invalid_token: the bearer token/);
    expect(said).toMatch(words);
  });

  test("with no audience, of a client of ours, it is not", async () => {
    const token = await corp.issuer.sign({ aud: undefined, client_id: "lintel" });
    expect(await who(callersOf(), token)).toMatchObject({ id: "corp:alice" });
  });

  test("within the clocks' tolerance it is not", async () => {
    const claims = { exp: seconds(-20), nbf: seconds(20) };
    const callers = callersOf();
    const token = await corp.issuer.sign(claims);
    // Also as one that was verified before.
    for (let i = 0; i < 2; i++) {
      expect(await who(callers, token)).toMatchObject({ id: "corp:alice" });
    }
    const strict = callersOf("clock_tolerance: 0s");
    expect(await who(strict, await corp.issuer.sign(claims))).toMatch("invalid_token");
  });

  test("no signature, a secret instead of a key, a wrong signature, a key of somebody else", async () => {
    const callers = callersOf();
    const claims = { iss: corp.issuer.url, aud: "lintel", sub: "eve", exp: seconds(60) };
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
    expect(await who(callers, await corp.issuer.sign({}, { key }))).toMatch(
      "has a signature that is not",
    );
    expect(await who(callers, await corp.issuer.sign({}, { key, kid: "x" }))).toMatch(
      "signed with a key that its issuer does not have",
    );
    const token = await corp.issuer.sign();
    expect(await who(callers, `${token.slice(0, -30)}AAAA${token.slice(-26)}`)).toMatch(
      "invalid_token",
    );
    expect(await who(callers, "eyJhbGciOiJFUzI1NiJ9.AAAA.AAAA")).toBeUndefined();
  });

  test("an algorithm that the operator does not want, an issuer that is not known", async () => {
    expect(await who(callersOf("algorithms: [RS256]"), await corp.issuer.sign())).toMatch(
      "algorithm that does not count",
    );
    const other = await corp.issuer.sign({ iss: "https://elsewhere.example" });
    expect(await who(callersOf(), other)).toBeUndefined();
  });

  test("a token that is longer than any needs to be is not looked at", async () => {
    const callers = callersOf();
    expect(callers.find(await corp.issuer.sign({ more: "x".repeat(20_000) }))).toBeUndefined();
    expect(corp.issuer.asked).toBe(0);
  });

  test("a token that was verified, once it expires", async () => {
    const callers = callersOf("clock_tolerance: 0s");
    const now = vi.spyOn(Date, "now");
    const token = await corp.issuer.sign({ exp: seconds(60) });
    expect(await who(callers, token)).toMatchObject({ id: "corp:alice" });
    now.mockReturnValue(Date.now() + 60_000);
    expect(await who(callers, token)).toMatch("the bearer token expired at");
    now.mockRestore();
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
  await expect(as(await corp.issuer.sign())).rejects.toMatchObject({ code: "model_not_allowed" });
});
