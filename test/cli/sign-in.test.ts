/** People who sign in to the console of processes: behind a proxy, and of several workers. */
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Json } from "../contract/wire.js";
import { configured, scriptedIssuer } from "../doors/sign-in-gateway.js";
import { TestProxy } from "../support/proxy.js";
import { redisBinary } from "../support/redis.js";
import { build, folder, start } from "./lintel.js";
import { gateway, linesOf } from "./several.js";

beforeAll(build);

type Scripted = Awaited<ReturnType<typeof scriptedIssuer>>;

/** Asks over a connection of its own: workers take turns with these. */
const asker = (base: string) => async (step: string, body: object) => {
  const response = await fetch(`${base}/sign-in/${step}`, {
    method: "POST",
    headers: { "content-type": "application/json", connection: "close" },
    body: JSON.stringify({ name: "Corp", page: `${base}/`, ...body }),
  });
  const json: Json = await response.json();
  return { status: response.status, json };
};

/** Signs in, is renewed, and leaves, each step so often. */
async function throughAll(
  base: string,
  { issuer, token, revoke, tokens }: Scripted,
  times: number,
) {
  const ask = asker(base);
  const each = async (step: string, body: object) => {
    const answers = [];
    for (let i = 0; i < times; i++) answers.push(await ask(step, body));
    expect(answers.map(({ status }) => status)).toEqual(Array(times).fill(200));
    return answers[0]?.json;
  };
  const { nonce, verifier, url } = await each("begin", {});
  expect(url).toContain(`${issuer.url}/auth?`);
  token.body = await tokens({ nonce });
  const { refresh_token, id_token } = await each("finish", { code: "c", verifier, nonce });
  await each("renew", { refresh_token, id_token });
  expect(
    token.asked.map(({ form }) => form.get("code_verifier") ?? form.get("refresh_token")),
  ).toEqual([...Array(times).fill(verifier), ...Array(times).fill(refresh_token)]);
  expect((await each("end", { refresh_token, id_token })).url).toContain(`${issuer.url}/end?`);
  expect(revoke.asked).toHaveLength(times);
}

test("all that an issuer is asked goes through the proxy", async () => {
  const [proxy, scripted] = [await TestProxy.start(), await scriptedIssuer()];
  const { issuer } = scripted;
  const at = (address: string) => address.replaceAll("127.0.0.1", "issuer.test");
  issuer.url = at(issuer.url);
  issuer.described = JSON.parse(at(JSON.stringify(issuer.described)));
  const lintel = start(
    ["serve"],
    folder({ "lintel.yaml": `listen: 127.0.0.1:0\n${configured(issuer.url)}` }),
    { HTTP_PROXY: `http://me:hunter22@127.0.0.1:${proxy.port}` },
  );
  onTestFinished(async () => {
    lintel.kill("SIGKILL");
    await lintel.ended;
  });
  const [base = ""] = await lintel.until(/http:\/\/127\.0\.0\.1:\d+/);
  await throughAll(base, scripted, 1);
  expect(new Set(proxy.asked.map(({ what }) => what))).toEqual(
    new Set([
      `GET ${issuer.url}/.well-known/openid-configuration`,
      `GET ${issuer.url}/keys`,
      `POST ${issuer.url}/token`,
      `POST ${issuer.url}/revoke`,
    ]),
  );
  proxy.mood = 407;
  const { id_token } = await scripted.tokens();
  const { status, json } = await asker(base)("renew", { refresh_token: "r", id_token });
  expect([status, json.error.message]).toEqual([503, "Corp can't be reached now"]);
  await lintel.saying(/the proxy 127\.0\.0\.1:\d+ \(HTTP_PROXY\) answered with status 407/);
  expect(lintel.stderr).not.toMatch(/hunter22|bWU6/);
});

describe.runIf(redisBinary)("workers", () => {
  test("go on with what another of them began, and say each what failed", async () => {
    const scripted = await scriptedIssuer();
    const own = configured(scripted.issuer.url).replace("backends: []\n", "");
    const { lintel, base } = await gateway(own);
    await throughAll(base, scripted, 4);
    const { id_token } = await scripted.tokens();
    Object.assign(scripted.token, { status: 400, body: { error: "invalid_grant" } });
    for (let i = 0; i < 2; i++) {
      const { status, json } = await asker(base)("renew", { refresh_token: "r", id_token });
      expect([status, json.error.message]).toEqual([400, "Corp refuses: invalid_grant"]);
    }
    lintel.kill("SIGTERM");
    await lintel.ended;
    const failed = linesOf(lintel).filter(({ msg }) => msg === "a sign-in failed");
    expect(new Set(failed.map(({ worker }) => worker))).toEqual(new Set([1, 2]));
  });
});
