/** End users with limits, through whole gateways. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { expect, it, onTestFinished, vi } from "vitest";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { drawing } from "../backends/openai-images-subject.js";
import { echo } from "../backends/openai-subject.js";
import { Upstream } from "../backends/upstream.js";
import { gateway } from "../support/gateway.js";
import { redisBinary, startRedis } from "../support/redis.js";

/** The part of a configuration that every test has: a model server that draws and chats. */
async function backends(): Promise<string> {
  const draw = drawing("localai/image");
  const server = await Upstream.start((exchange) => {
    const { path } = exchange.request;
    if (path.endsWith("/images/generations")) return draw(exchange);
    return path.endsWith("/models") ? exchange.sendJson(404, {}) : echo(exchange);
  });
  onTestFinished(() => server.close());
  return `
prices: [{ model: draw, image: 1 }]
backends:
  - { type: openai, name: server, url: "${server.url}", models: [chat], image_models: [draw] }
`;
}

/** Draws an image for a user of the caller `me`; what becomes of it. */
async function draw({ url }: { readonly url: string }, user?: string, credential = "me") {
  const response = await fetch(`${url}/text-to-image`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${credential}` },
    body: JSON.stringify({
      ...{ model_id: "draw", prompt: "a circle", width: 64, height: 64 },
      ...(user !== undefined && { user }),
    }),
  });
  const text = await response.text();
  return response.status === 200 ? "ok" : text;
}

/** What is left of each limit of a user of the caller `me`. */
async function left({ url }: { readonly url: string }, user: string): Promise<number[]> {
  const headers = { authorization: "Bearer me" };
  const answer = await fetch(`${url}/account?user=${user}`, { headers });
  const { limits } = (await answer.json()) as { limits: { remaining: number }[] };
  return limits.map(({ remaining }) => remaining);
}

const limits = (user: string) => `limits: { user: { ${user} } }`;
const twoADay = limits("images_per_day: 2, budget: { amount: 3 }");

/** A folder for the state of gateways that come one after the other. */
function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "lintel-users-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return `state: { directory: "${path}" }`;
}

it("goes on with what each user used before a restart", async () => {
  const text = `${await backends()}\n${twoADay}\n${folder()}`;
  const before = await gateway(text);
  for (const user of ["ann", "ann", "bob", undefined]) expect(await draw(before, user)).toBe("ok");
  expect(await draw(before, "bob", "other")).toBe("ok");
  await before.running.close(0);
  const after = await gateway(text);
  // A start waits for the records, but not for ever.
  await vi.waitFor(async () => expect(await left(after, "ann")).toEqual([0, 1]));
  expect(await draw(after, "ann")).toContain("2 images per day for this user");
  expect(await draw(after, "bob")).toBe("ok");
  expect(await draw(after, "bob")).toContain("for this user");
  expect(await draw(after, "bob", "other")).toBe("ok");
  expect(await draw(after)).toBe("ok");
});

it("goes on with what users used before a restart whom a token or a team alone limits", async () => {
  const names = ["shop", "kiosk", "other"];
  const tokens = new Map(names.map((name) => [name, createToken()]));
  const more = ["limits: { user: { images_per_day: 2 } }", "team: lobby", ""];
  const own = names.map(
    (name, i) => `{ name: ${name}, hash: "${hashToken(tokens.get(name) ?? "")}", ${more[i]} }`,
  );
  const teams = "[{ name: lobby, limits: { user: { budget: { amount: 1, period: day } } } }]";
  const auth = `auth: { mode: token, tokens: [${own.join(", ")}], teams: ${teams} }`;
  const text = `${await backends()}\n${auth}\n${folder()}`;
  const before = await gateway(text);
  for (const name of names) expect(await draw(before, "ann", tokens.get(name))).toBe("ok");
  await before.running.close(0);
  const after = await gateway(text);
  const account = async (name: string) => {
    const headers = { authorization: `Bearer ${tokens.get(name)}` };
    return (await fetch(`${after.url}/account?user=ann`, { headers })).json();
  };
  await expect.poll(() => account("shop")).toMatchObject({ limits: [{ remaining: 1 }] });
  expect(await account("kiosk")).toMatchObject({ limits: [{ remaining: 0 }] });
  expect(await account("other")).toMatchObject({ limits: [] });
  expect(await draw(after, "ann", tokens.get("shop"))).toBe("ok");
  expect(await draw(after, "ann", tokens.get("shop"))).toContain("2 images per day for this user");
  expect(await draw(after, "ann", tokens.get("kiosk"))).toContain("for this user");
});

it("counts what was used before where a reload limits users, or their budget has another period", async () => {
  const rest = await backends();
  const it = await gateway(rest);
  const ask = () => draw(it, "ann");
  expect([await ask(), await ask()]).toEqual(["ok", "ok"]);
  it.write(`${rest}\n${limits("budget: { amount: 3, period: day }")}`);
  await it.reload();
  // On a busy machine the records are read behind the reload.
  await vi.waitFor(async () => expect(await left(it, "ann")).toEqual([1]));
  expect(await ask()).toBe("ok");
  expect(await ask()).toContain("a budget of 3 per day for this user");
  it.write(`${rest}\n${limits("budget: { amount: 4, period: day }")}`);
  await it.reload();
  expect(await ask()).toBe("ok");
  expect(await ask()).toContain("a budget of 4 per day");
  it.write(`${rest}\n${limits("budget: { amount: 4, period: month }")}`);
  await it.reload();
  await vi.waitFor(async () => expect(await left(it, "ann")).toEqual([0]));
  expect(await ask()).toContain("a budget of 4 per month");
  expect(await draw(it, "bob")).toBe("ok");
});

it.skipIf(!redisBinary)(
  "counts users at all gateways with one Redis, who is told of none",
  async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const state = `state: { directory: state, redis: { url: "${redis.url}" } }`;
    const text = `${await backends()}\n${twoADay}\n${state}`;
    const [one, two] = [await gateway(text), await gateway(text)];
    expect([await draw(one, "ann@a"), await draw(two, "ann@a")]).toEqual(["ok", "ok"]);
    for (const at of [one, two]) {
      expect(await draw(at, "ann@a")).toContain("2 images per day for this user");
    }
    expect([await draw(one, "bob"), await draw(two)]).toEqual(["ok", "ok"]);
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    const keys = await client.keys("lintel:{limits}:user:*");
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) expect(key).toMatch(/:user:[\w-]{43}:(images|spend-month)$/);
    for (const key of keys) expect(await client.pttl(key)).toBeGreaterThan(0);
  },
);
