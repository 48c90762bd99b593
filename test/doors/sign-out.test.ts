/** What the gateway tells an issuer of who leaves, and what it tells them of that. */
import { describe, expect, onTestFinished, test } from "vitest";
import { scriptedIssuer, signInsOf } from "./sign-in-gateway.js";

const secret = "s3cret-of-the-client";
const refresh = "refresh-token-0123456789";

async function left(more = "") {
  const scripted = await scriptedIssuer();
  const it = await signInsOf(scripted.issuer.url, more);
  const leaving = { name: "Corp", page: it.page, refresh_token: refresh };
  return {
    ...it,
    ...scripted,
    leave: (also: object = {}) => it.post("end", { ...leaving, ...also }),
  };
}

test("who leaves has their refresh token ended, and is sent where they sign out there", async () => {
  const it = await left(`, client_secret: ${secret}`);
  const idToken = await it.issuer.sign({ aud: "console" });
  const { status, json } = await it.leave({ id_token: idToken });
  expect(status).toBe(200);
  expect(json).toEqual({ url: expect.any(String) });
  const { href, searchParams } = new URL(json.url);
  expect(href).toContain(`${it.issuer.url}/end?`);
  expect(Object.fromEntries(searchParams)).toEqual({
    ...{ client_id: "console", post_logout_redirect_uri: it.page, id_token_hint: idToken },
  });
  expect(it.revoke.asked.map(({ form }) => Object.fromEntries(form))).toEqual([
    { token: refresh, token_type_hint: "refresh_token" },
  ]);
  expect(it.revoke.asked[0]?.authorization).toMatch(/^Basic /);
  // An address can't have so much in it.
  const { json: long } = await it.leave({ id_token: `${idToken}${"a".repeat(4096)}` });
  expect(new URL(long.url).searchParams.has("id_token_hint")).toBe(false);
  expect(it.lines.filter(({ message }) => message === "a sign-in failed")).toEqual([]);
});

describe("an issuer that does not end the refresh token: they are sent on all the same, and told", () => {
  test.each<[string, number, unknown, string, string]>([
    ["fails", 500, "", "unavailable", "Corp answers with status 500"],
    ["is busy", 503, "<html>", "unavailable", "Corp answers with status 503"],
    [
      "does not know the kind",
      400,
      { error: "unsupported_token_type", error_description: `${refresh} is ${secret}` },
      "upstream_failed",
      "Corp refuses: unsupported_token_type: … is …",
    ],
    [
      "does not know the client",
      401,
      { error: "invalid_client" },
      "upstream_failed",
      "Corp refuses: invalid_client",
    ],
    ["leads elsewhere", 302, "", "unavailable", "Corp can't be reached now"],
  ])("%s", async (_what, status, body, code, words) => {
    const it = await left(`, client_secret: ${secret}`);
    Object.assign(it.revoke, { status, body });
    const answer = await it.leave();
    expect(answer.status).toBe(200);
    const problem = `the refresh token may still count: ${words}`;
    expect(answer.json).toEqual({ url: expect.stringContaining("/end?"), problem });
    const { level, fields } = await it.said("a sign-in failed");
    expect(level).toBe("warn");
    expect(fields).toMatchObject({ step: "end", code, error: problem, client: "127.0.0.1" });
    expect(JSON.stringify(it.lines)).not.toMatch(new RegExp(`${refresh}|${secret}`));
  });

  test("has gone away", async () => {
    const it = await left();
    await it.leave();
    await it.issuer.stop();
    const { status, json } = await it.leave();
    const problem = "the refresh token may still count: Corp can't be reached now";
    expect([status, json]).toEqual([200, { url: expect.stringContaining("/end?"), problem }]);
    const { fields } = await it.said("a sign-in failed");
    expect(fields).toMatchObject({ step: "end", code: "unavailable", error: problem });
    expect(fields.cause).toMatch(/ECONNREFUSED/);
  });

  test("says no address for that", async () => {
    const it = await left();
    Object.assign(it.issuer.described, { revocation_endpoint: "javascript:alert(1)" });
    const { json } = await it.leave();
    const problem = "the refresh token may still count: the issuer offers no revocation_endpoint";
    expect(json).toEqual({ url: expect.stringContaining("/end?"), problem });
  });
});

test("a refresh token that counts no more was ended, also where the issuer refuses it for that", async () => {
  const it = await left();
  Object.assign(it.revoke, { status: 400, body: { error: "invalid_token" } });
  expect((await it.leave()).json).toEqual({ url: expect.any(String) });
});

test("an issuer with neither has nothing to be told", async () => {
  const it = await left();
  Object.assign(it.issuer.described, {
    ...{ revocation_endpoint: undefined, end_session_endpoint: undefined },
  });
  const { status, json } = await it.leave();
  expect([status, json]).toEqual([200, {}]);
  expect(it.revoke.asked).toEqual([]);
});

test("what goes wrong with both is told of both", async () => {
  const it = await left();
  it.revoke.status = 500;
  Object.assign(it.issuer.described, { end_session_endpoint: "none" });
  const { status, json } = await it.leave();
  const problem =
    "the refresh token may still count: Corp answers with status 500; the issuer offers no end_session_endpoint";
  expect([status, json]).toEqual([200, { problem }]);
  const told = it.lines.filter(({ message }) => message === "a sign-in failed");
  expect(told.map(({ fields }) => fields.step)).toEqual(["end", "end"]);
});

test("an issuer of which nothing can be read says not where one signs out there", async () => {
  const it = await left();
  await it.issuer.stop();
  onTestFinished(() => it.issuer.start().then(() => it.issuer.stop()));
  const { status, json } = await it.leave();
  expect([status, json.error.message]).toEqual([503, "Corp can't be reached now"]);
});
