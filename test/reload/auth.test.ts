/** Who may call, as the configuration changes. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { hashToken } from "../../src/core/tokens.js";
import { Issuer } from "../oidc/issuer.js";
import { gateway } from "../support/gateway.js";
import { backend, modelServer, statusOf } from "./model-server.js";

test("a file that is gone opens nothing: the configuration before stays", async () => {
  const a = await modelServer("a");
  const known = `auth: { mode: token, tokens: [{ name: x, hash: "${hashToken("known")}" }] }\n`;
  const it = await gateway(`${known}backends:\n${backend("a", a.url)}`);
  rmSync(join(it.cwd, "lintel.yaml"));
  await it.reload();
  const mistake = await it.said("mistake in the new configuration");
  expect(mistake.fields).toEqual({ problem: "lintel.yaml: there is no such file" });
  expect(await statusOf(it.chat("a", "Hello", "any"))).toBe(401);
  expect(await statusOf(it.chat("a", "Hello", "known"))).toBe(200);
});

test("auth.mode applies at once, from one to any other; calls that run go on", async () => {
  const a = await modelServer("a");
  const known = `tokens: [{ name: x, hash: "${hashToken("known")}" }]`;
  const auth = (mode: string) =>
    `auth: { mode: ${mode}, ${known} }\nbackends:\n${backend("a", a.url)}`;
  const it = await gateway(auth("public"));
  const nobody = () =>
    statusOf(
      fetch(`${it.url}/llm`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          model: "a",
          stream: true,
          messages: [{ role: "user", content: "Hello" }],
        }),
      }),
    );
  const seen = async () => [
    await statusOf(it.chat("a", "Hello", "known")),
    await statusOf(it.chat("a", "Hello", "any")),
    await nobody(),
  ];
  expect(await seen()).toEqual([200, 200, 401]);
  const running = await it.chat("a", "wait", "any");
  for (const [mode, expected] of [
    ["token", [200, 401, 401]],
    ["none", [200, 200, 200]],
    ["public", [200, 200, 401]],
    ["token", [200, 401, 401]],
  ] as const) {
    it.write(auth(mode));
    await it.reload();
    expect([mode, ...(await seen())]).toEqual([mode, ...expected]);
  }
  a.release();
  expect(await running.text()).toMatch(/ two.*\[DONE\]/s);
  // Tokens of the database were not looked up at the start, and are not now.
  const message = "these changes of the configuration apply after a restart";
  expect((await it.said(message)).fields).toEqual({
    fields: ["auth.mode (tokens in the database)"],
  });
});

test("tokens of the database apply or need a restart by the mode at the start", async () => {
  const a = await modelServer("a");
  const auth = (mode: string) => `auth: { mode: ${mode} }\nbackends:\n${backend("a", a.url)}`;
  const restart = async (first: string, ...then: readonly string[]) => {
    const it = await gateway(auth(first));
    for (const mode of then) {
      it.write(auth(mode));
      await it.reload();
    }
    const message = "these changes of the configuration apply after a restart";
    return it.lines.filter((line) => line.message === message).map(({ fields }) => fields.fields);
  };
  expect(await restart("token", "public", "token")).toEqual([]);
  const tokens = ["auth.mode (tokens in the database)"];
  expect(await restart("public", "token", "token")).toEqual([tokens, tokens]);
});

test("another rule for callers of an issuer that is away: its known keys go on counting, at the same address", async () => {
  const a = await modelServer("a");
  const issuer = new Issuer();
  await issuer.start();
  onTestFinished(() => issuer.stop());
  const auth = (more: string) => `auth:
  mode: token
  oidc: [{ name: corp, issuer: "${issuer.url}", audience: lintel, ${more} }]
backends:\n${backend("a", a.url)}`;
  const it = await gateway(auth("models: [a]"));
  const token = await issuer.sign();
  const status = () => statusOf(it.chat("a", "Hello", token));
  expect(await status()).toBe(200);
  issuer.status = 503;
  for (const [more, expected] of [
    ["models: [a, b]", 200],
    ["models: [b], refresh: 1h", 403],
    [`models: [a], jwks_url: "${issuer.url}/other"`, 503],
  ] as const) {
    it.write(auth(more));
    await it.reload();
    expect([more, await status()]).toEqual([more, expected]);
  }
});

test("an issuer whose place another one took is asked for its keys no more", async () => {
  const a = await modelServer("a");
  const [one, other] = [new Issuer(), new Issuer()];
  for (const issuer of [one, other]) {
    await issuer.start();
    onTestFinished(() => issuer.stop());
  }
  const auth = (issuer: Issuer) => `auth:
  mode: token
  oidc: [{ name: corp, issuer: "${issuer.url}", audience: lintel, refresh: 20ms }]
backends:\n${backend("a", a.url)}`;
  const it = await gateway(auth(one));
  await expect.poll(() => one.asked).toBeGreaterThan(2);
  it.write(auth(other));
  await it.reload();
  await expect.poll(() => other.asked).toBeGreaterThan(2);
  const known = one.asked;
  const since = other.asked;
  await expect.poll(() => other.asked).toBeGreaterThan(since + 5);
  // One may have been on its way.
  expect(one.asked).toBeLessThanOrEqual(known + 1);
});
