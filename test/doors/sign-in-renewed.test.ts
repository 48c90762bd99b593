/** Tokens that are renewed, and answers of an issuer that signs nobody in: whose they are. */
import { describe, expect, test } from "vitest";
import { scriptedIssuer, signInsOf } from "./sign-in-gateway.js";

async function served() {
  const scripted = await scriptedIssuer();
  const it = await signInsOf(scripted.issuer.url);
  const { id_token } = await scripted.tokens();
  const renewal = { name: "Corp", page: it.page, refresh_token: "refresh-0123456789", id_token };
  return {
    ...it,
    ...scripted,
    renewal,
    renew: (more = {}) => it.post("renew", { ...renewal, ...more }),
  };
}

test("a renewal gives the tokens that count from now on", async () => {
  const it = await served();
  it.token.body = await it.tokens();
  const { status, json } = await it.renew();
  const { access_token: token, ...others } = it.token.body as Awaited<ReturnType<typeof it.tokens>>;
  expect([status, json]).toEqual([200, { token, ...others, expires_in: expect.any(Number) }]);
  expect(Object.fromEntries(it.token.asked[0]?.form ?? [])).toEqual({
    grant_type: "refresh_token",
    refresh_token: "refresh-0123456789",
    client_id: "console",
  });
});

describe("of a renewed id token", () => {
  test.each<[string, object, object]>([
    ["another order of those it is for", { aud: ["a", "console"] }, { aud: ["console", "a"] }],
    ["another nonce, time and end", { nonce: "a", iat: 1 }, { exp: 4e9 }],
    ["one that ended, as the one before may have", { exp: 1 }, {}],
  ])("%s is as it should be", async (_what, before, renewed) => {
    const it = await served();
    it.token.body = await it.tokens(renewed);
    const { id_token } = await it.tokens(before);
    expect((await it.renew({ id_token })).status).toBe(200);
  });

  test("there need be none", async () => {
    const it = await served();
    const { access_token } = await it.tokens();
    it.token.body = { access_token };
    const { status, json } = await it.renew();
    expect(status).toBe(200);
    expect(json).toMatchObject({ token: access_token, refresh_token: "refresh-0123456789" });
    expect(json.id_token).toBeUndefined();
  });

  test.each<[string, object, object]>([
    ["sub", {}, { sub: "mallory" }],
    ["sub", {}, { sub: undefined }],
    ["aud", {}, { aud: ["console", "payroll"] }],
    ["aud", { aud: ["console", "payroll"] }, {}],
    ["iss", { iss: "https://before.example" }, {}],
  ])("%s that is another is refused, and nothing is told of it", async (claim, before, renewed) => {
    const it = await served();
    it.token.body = await it.tokens(renewed);
    const { id_token } = await it.tokens(before);
    const { status, json } = await it.renew({ id_token });
    const message = `the id token is not of who signed in here: its ${claim} does not fit`;
    expect([status, json.error.code, json.error.message]).toEqual([400, "invalid_value", message]);
    const { fields } = await it.said("a sign-in failed");
    expect(fields).toMatchObject({ step: "renew", code: "invalid_value", error: message });
    expect(JSON.stringify(json)).not.toMatch(/eyJ|refresh-of/);
  });
});

describe("an issuer that signs somebody not in", () => {
  const refusal = { error: "access_denied", error_description: "not\ntoday" };

  test.each<[string, object, unknown[]]>([
    [
      "for what they did",
      refusal,
      [400, "invalid_value", "Corp refuses: access_denied: not today"],
    ],
    [
      "and says no more",
      { error: "login_required" },
      [400, "invalid_value", "Corp refuses: login_required"],
    ],
    [
      "for how it is asked",
      { error: "invalid_scope", error_description: "no such scope" },
      [502, "upstream_failed", "Corp refuses: invalid_scope: no such scope"],
    ],
  ])("%s", async (_what, told, expected) => {
    const it = await served();
    Object.assign(it.issuer.described, { authorization_response_iss_parameter_supported: true });
    const asked = { name: "Corp", page: it.page, iss: it.issuer.url, ...told };
    expect(await it.refused("finish", asked)).toEqual(expected);
    const { fields } = await it.said("a sign-in failed");
    expect(fields).toMatchObject({ step: "finish", error: expected[2] });
    expect(it.token.asked).toEqual([]);
  });

  test.each<[string, string | undefined, boolean, string]>([
    ["says it is another", "https://b.example", true, "the answer is another issuer's"],
    [
      "says it is another, and need not say",
      "https://b.example",
      false,
      "the answer is another issuer's",
    ],
    [
      "does not say which it is, and has to",
      undefined,
      true,
      "the answer does not say whose it is",
    ],
  ])("is not believed where it %s", async (_what, iss, has, words) => {
    const it = await served();
    Object.assign(it.issuer.described, { authorization_response_iss_parameter_supported: has });
    const asked = { name: "Corp", page: it.page, iss, ...refusal };
    expect(await it.refused("finish", asked)).toEqual([
      400,
      "invalid_value",
      `${words}: nothing was done with it`,
    ]);
    expect(JSON.stringify(it.lines)).not.toContain("access_denied");
  });

  test("need not say which it is where it says nothing of that", async () => {
    const it = await served();
    const asked = { name: "Corp", page: it.page, ...refusal };
    expect((await it.refused("finish", asked))[2]).toBe("Corp refuses: access_denied: not today");
  });
});
