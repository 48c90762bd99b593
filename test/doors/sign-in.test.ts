/** What the console's page asks its gateway for signing in, and what anybody else may ask so. */
import { describe, expect, onTestFinished, test } from "vitest";
import { type Identity, startProvider } from "../console/provider.js";
import { gateway } from "../support/gateway.js";
import { configured, signInsOf } from "./sign-in-gateway.js";

async function served(more = "", rest = "") {
  const identity = await startProvider();
  const it = await signInsOf(identity.issuer, more, rest);
  identity.pages.add(it.page);
  return { ...it, identity };
}

/** What was asked of an issuer for who signs in. */
const paths = ({ asked }: Identity) =>
  asked.map(({ path }) => path).filter((path) => !/^\/(\.well-known|jwks)/.test(path));

/** Answers the issuer's token endpoint. */
const tokenEndpoint = (identity: Identity, status: number, body: string) => {
  identity.instead = ({ url }, response) =>
    url === "/token" &&
    !!response.writeHead(status, { "content-type": "application/json" }).end(body);
};

test("says where to go, with a challenge whose answer the page alone knows", async () => {
  const it = await served(", scopes: [openid, api], parameters: { domain_hint: corp.example }");
  const { status, headers, json } = await it.post("begin", { name: "Corp", page: it.page });
  expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
  const { url, state, nonce, verifier } = json;
  const { searchParams, href } = new URL(url);
  expect(href).toContain(`${it.identity.issuer}/auth?`);
  expect(Object.fromEntries(searchParams)).toEqual({
    ...{ client_id: "console", response_type: "code", redirect_uri: it.page },
    ...{ scope: "openid api", state, nonce, code_challenge_method: "S256" },
    ...{ code_challenge: expect.stringMatching(/^[\w-]{43}$/), domain_hint: "corp.example" },
  });
  expect(url).not.toContain(verifier);
  const { json: again } = await it.post("begin", { name: "Corp", page: it.page });
  for (const key of ["state", "nonce", "verifier"]) expect(again[key]).not.toBe(json[key]);
});

describe("refuses", () => {
  const finish = { code: "c", verifier: "v", nonce: "n" };
  const mustBePage = "page: must be the page's own address, without query and fragment";

  test.each<[string, string, object | string, unknown[]]>([
    ["no fields", "finish", {}, [422, "invalid_fields", mustBePage]],
    ["no JSON", "begin", "{", [400, "invalid_json", expect.any(String)]],
    ["a list", "begin", "[]", [400, "invalid_json", expect.any(String)]],
    [
      "an address with more to it",
      "begin",
      { name: "Corp", page: "https://a.example/?b" },
      [422, "invalid_fields", mustBePage],
    ],
    [
      "an address of another kind",
      "begin",
      { name: "Corp", page: "javascript:alert(1)" },
      [422, "invalid_fields", mustBePage],
    ],
    [
      "a name that there is none of",
      "begin",
      { name: "Other", page: "https://a.example/" },
      [404, "not_found", "there is no sign-in of this name here; load the page anew"],
    ],
    [
      "what is missing, and of another kind",
      "finish",
      { ...finish, code: 1, nonce: "", name: "Corp", page: "https://a.example/" },
      [422, "invalid_fields", "code: must be a text; nonce: is required"],
    ],
    [
      "no refresh token",
      "renew",
      { name: "Corp", page: "https://a.example/" },
      [422, "invalid_fields", "refresh_token: is required; id_token: is required"],
    ],
    [
      "an id token that is none",
      "renew",
      { name: "Corp", page: "https://a.example/", refresh_token: "r", id_token: "i" },
      [422, "invalid_fields", "id_token: must be a JWT"],
    ],
    [
      "more than 64 KiB",
      "renew",
      { name: "Corp", page: "https://a.example/", refresh_token: "r".repeat(65_536) },
      [413, expect.any(String), expect.any(String)],
    ],
  ])("%s", async (_what, step, body, expected) => {
    const { refused, identity } = await served();
    expect(await refused(step, body)).toEqual(expected);
    expect(paths(identity)).toEqual([]);
  });

  test("pages of other origins", async () => {
    const { refused, page, identity } = await served();
    expect(await refused("begin", { name: "Corp", page }, { origin: "https://b.example" })).toEqual(
      [...[422, "invalid_fields", "page: must be of the page that asks"]],
    );
    expect(paths(identity)).toEqual([]);
  });

  test("other methods and media types, and all of it where nobody signs in", async () => {
    const { url, identity } = await served();
    expect((await fetch(`${url}/sign-in/begin`)).status).toBe(405);
    const form = await fetch(`${url}/sign-in/begin`, { method: "POST", body: "name=Corp" });
    expect(form.status).toBe(415);
    const plain = await gateway("auth: { mode: none }\nbackends: []\n");
    const answer = await fetch(`${plain.url}/sign-in/begin`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "Corp", page: `${plain.url}/` }),
    });
    expect(answer.status).toBe(404);
    expect(paths(identity)).toEqual([]);
  });

  test("an address that asks too often, and tells it for how long", async () => {
    const { post, page } = await served();
    const asked = { name: "Other", page };
    for (let i = 0; i < 120; i++) expect((await post("begin", asked)).status).toBe(404);
    const { status, headers } = await post("begin", asked);
    expect(status).toBe(429);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  });

  test("more than 32 at a time", async () => {
    const it = await served();
    const held: (() => void)[] = [];
    onTestFinished(() => {
      for (const answer of held) answer();
    });
    let all = () => {};
    const arrived = new Promise<void>((resolve) => {
      all = resolve;
    });
    await it.post("begin", { name: "Corp", page: it.page });
    it.identity.instead = (_, response) => {
      held.push(() => response.writeHead(500).end());
      if (held.length === 32) all();
      return true;
    };
    const renewed = { name: "Corp", page: it.page, refresh_token: "r", id_token: "e30.e30." };
    const first = Array.from({ length: 32 }, () => it.post("renew", renewed));
    await arrived;
    expect((await it.refused("renew", renewed)).slice(0, 2)).toEqual([503, "overloaded"]);
    for (const answer of held.splice(0)) answer();
    for (const { status } of await Promise.all(first)) expect(status).toBe(503);
    it.identity.instead = undefined;
    expect((await it.refused("renew", renewed)).slice(0, 2)).toEqual([400, "invalid_value"]);
  });
});

describe("an issuer that answers with", () => {
  test.each<[string, number, string, unknown[]]>([
    ["no JSON", 200, "<html>", [502, "upstream_failed", "Corp gave no id token"]],
    ["no tokens", 200, "{}", [502, "upstream_failed", "Corp gave no id token"]],
    [
      "something that is no id token",
      200,
      '{"id_token":"a.b.c","access_token":"d"}',
      [401, "invalid_token", expect.stringContaining("the id token of the issuer")],
    ],
    ["a failure", 500, "", [503, "unavailable", "Corp answers with status 500"]],
    [
      "more than 1 MiB",
      200,
      "x".repeat(2 ** 20 + 1),
      [503, "unavailable", "Corp can't be reached now"],
    ],
    [
      "a client that it does not know",
      401,
      '{"error":"invalid_client"}',
      [502, "upstream_failed", "Corp refuses: invalid_client"],
    ],
    [
      "words that repeat what was sent",
      400,
      '{"error":"invalid_grant","error_description":"the code secret-code-0123456789 is\\nold"}',
      [400, "invalid_value", "Corp refuses: invalid_grant: the code … is old"],
    ],
  ])("%s", async (_what, status, body, expected) => {
    const it = await served();
    tokenEndpoint(it.identity, status, body);
    const returned = { code: "secret-code-0123456789", verifier: "v", nonce: "n" };
    const iss = it.identity.issuer;
    const asked = { name: "Corp", page: it.page, iss, ...returned };
    expect(await it.refused("finish", asked)).toEqual(expected);
    const { fields } = await it.said("a sign-in failed");
    expect(fields).toMatchObject({ step: "finish", code: expected[1] });
    expect(JSON.stringify(it.lines)).not.toContain("secret-code-0123456789");
  });
});

test("no words of an issuer bring its client's secret to the page, or into the log", async () => {
  const secret = "s3/cret";
  const it = await served(`, client_secret: "${secret}"`);
  const basic = Buffer.from("console:s3%2Fcret").toString("base64");
  const words = `${secret} s3%2Fcret ${basic} refresh-1 refresh_token ${it.page}`;
  tokenEndpoint(
    it.identity,
    401,
    JSON.stringify({ error: "invalid_client", error_description: words }),
  );
  const asked = { name: "Corp", page: it.page, refresh_token: "refresh-1", id_token: "e30.e30." };
  const [status, code, message] = await it.refused("renew", asked);
  expect([status, code]).toEqual([502, "upstream_failed"]);
  // What is no secret helps to find the mistake.
  expect(message).toBe(`Corp refuses: invalid_client: … … … … refresh_token ${it.page}`);
  const { fields } = await it.said("a sign-in failed");
  expect(fields.error).toBe(message);
  for (const told of [secret, "s3%2Fcret", basic]) {
    expect(JSON.stringify(it.lines)).not.toContain(told);
  }
});

test("a reload changes who may sign in, and where", async () => {
  const it = await served();
  const begin = (name: string) => it.refused("begin", { name, page: it.page });
  it.write(configured(it.identity.issuer).replace("name: Corp", "name: Company"));
  await it.reload();
  const { changed } = (await it.said("configuration reloaded")).fields;
  expect(changed).toEqual(["console.sign_in"]);
  expect((await begin("Corp"))[0]).toBe(404);
  expect((await begin("Company"))[0]).toBe(200);
  expect(await (await fetch(it.url)).text()).toContain('data-sign-in="[&#34;Company&#34;]"');
});
