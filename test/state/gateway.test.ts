/** Callers with limits of their own, through whole gateways: tokens of the database and JWTs. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { describe, expect, it, onTestFinished } from "vitest";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { openDatabase } from "../../src/state/database/open.js";
import { rowsOf } from "../../src/state/database/sql.js";
import { drawing } from "../backends/openai-images-subject.js";
import { echo } from "../backends/openai-subject.js";
import { type Script, Upstream } from "../backends/upstream.js";
import { runHere } from "../cli/here.js";
import { Issuer } from "../oidc/issuer.js";
import { gateway } from "../support/gateway.js";
import { noPostgres, startPostgres } from "../support/postgres.js";
import { redisBinary, startRedis } from "../support/redis.js";

/** A model server whose answers to `wait` come when it is told. */
async function modelServer() {
  const waiting: (() => void)[] = [];
  const draw = drawing("localai/image");
  const script: Script = async (exchange) => {
    if (exchange.request.path.endsWith("/images/generations")) return draw(exchange);
    // It does not say what it is.
    if (exchange.request.path.endsWith("/models")) return exchange.sendJson(404, {});
    if (exchange.json().messages.at(-1).content === "wait") {
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    return echo(exchange);
  };
  const server = await Upstream.start(script);
  onTestFinished(() => server.close());
  return { server, release: () => waiting.splice(0).forEach((resolve) => void resolve()) };
}

const settings = (url: string, more: string) => `
prices: [{ model: draw, image: 1 }]
backends:
  - { type: openai, name: server, url: "${url}", models: [chat], image_models: [draw] }
${more}`;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly message: string;
}

const asking = (url: string, credential: string) => {
  const post = async (path: string, body: object): Promise<Answer> => {
    const response = await fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${credential}` },
      body: JSON.stringify(body),
    });
    // biome-ignore lint/suspicious/noExplicitAny: an answer, as a client looks at it
    const json: any = await response.json();
    return { status: response.status, headers: response.headers, message: json.error?.message };
  };
  return {
    /** What is left, by what is limited. */
    async left(): Promise<Record<string, number | undefined>> {
      const headers = { authorization: `Bearer ${credential}` };
      const response = await fetch(`${url}/account`, { headers });
      const { limits } = (await response.json()) as {
        limits: { quantity: string; remaining?: number }[];
      };
      return Object.fromEntries(limits.map(({ quantity, remaining }) => [quantity, remaining]));
    },
    chat: (content = "Hello") =>
      post("/llm", { model: "chat", max_tokens: 100, messages: [{ role: "user", content }] }),
    draw: (images: number) =>
      post("/text-to-image", {
        model_id: "draw",
        prompt: "a circle",
        ...{ width: 64, height: 64, num_images_per_prompt: images },
      }),
  };
};

/** What a caller may do, as the command line and as an issuer say it. */
interface Allowed {
  readonly options: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Some gateways that share what they count, and a caller's credential. */
interface Place {
  readonly urls: readonly string[];
  credential(allowed: Allowed): Promise<string>;
}

const oidc = (issuer: Issuer) => `
auth:
  mode: token
  oidc:
    - name: corp
      issuer: ${issuer.url}
      audience: lintel
      claims:
        requests_per_minute: lintel.rpm
        tokens_per_minute: lintel.tpm
        images_per_day: lintel.images
        concurrent: lintel.concurrent
      rules: [{ claim: plan, value: small, limits: { budget: { amount: 2, period: day } } }]
`;

async function issuing(): Promise<Issuer> {
  const issuer = new Issuer();
  await issuer.start();
  onTestFinished(() => issuer.stop());
  return issuer;
}

/** Made by the command line, as an operator does. */
const tokenOf =
  (cwd: string) =>
  async ({ options }: Allowed) => {
    const args = ["tokens", "create", "--name", "alice", ...options];
    const { stdout } = await runHere([...args, "--config", `${cwd}/lintel.yaml`]);
    return stdout.trim();
  };

const places: Record<string, (url: string) => Promise<Place>> = {
  async "a token of the database"(url) {
    const it = await gateway(settings(url, "auth: { mode: token }"));
    return { urls: [it.url], credential: tokenOf(it.cwd) };
  },
  async "a JWT"(url) {
    const issuer = await issuing();
    const it = await gateway(settings(url, oidc(issuer)));
    return { urls: [it.url], credential: ({ claims }) => issuer.sign(claims) };
  },
};
/** Two gateways with one Redis, and a folder of their own each. */
async function pair(url: string, more: string, database = "") {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const state = `state: { directory: state, ${database}redis: { url: "${redis.url}" } }`;
  const text = settings(url, `${more}\n${state}`);
  return [await gateway(text), await gateway(text)] as const;
}
if (redisBinary) {
  places["a JWT, at two gateways with one Redis"] = async (url) => {
    const issuer = await issuing();
    const all = await pair(url, oidc(issuer));
    return { urls: all.map((it) => it.url), credential: ({ claims }) => issuer.sign(claims) };
  };
}
if (redisBinary && !noPostgres) {
  places["a token of PostgreSQL, at two gateways with one Redis"] = async (url) => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.remove());
    const all = await pair(url, "auth: { mode: token }", `database: "${postgres.url}", `);
    return { urls: all.map((it) => it.url), credential: tokenOf(all[0].cwd) };
  };
}

describe.each(Object.entries(places))("%s", (_, open) => {
  /** One who asks at each of the gateways in turn. */
  async function caller(allowed: Allowed) {
    const { server, release } = await modelServer();
    const { urls, credential } = await open(server.url);
    const secret = await credential(allowed);
    const each = urls.map((url) => asking(url, secret));
    let turn = 0;
    const next = () => each[turn++ % each.length] as ReturnType<typeof asking>;
    return { next, release, server };
  }
  const refused = (answer: Answer, words: string) => {
    expect(answer).toMatchObject({ status: 429, message: expect.stringContaining(words) });
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  };

  it("requests per minute", async () => {
    const { next } = await caller({ options: ["--rpm", "2"], claims: { lintel: { rpm: 2 } } });
    for (const left of ["1", "0"]) {
      const { status, headers } = await next().chat();
      expect(status).toBe(200);
      expect(headers.get("x-ratelimit-limit-requests")).toBe("2");
      expect(headers.get("x-ratelimit-remaining-requests")).toBe(left);
    }
    refused(await next().chat(), "2 requests per minute");
  });
  it("tokens per minute: reserved while a call runs, settled by what it took", async () => {
    const allowed = { options: ["--tpm", "150"], claims: { lintel: { tpm: 150 } } };
    const { next, release, server } = await caller(allowed);
    const runs = next().chat("wait");
    await server.received(1);
    refused(await next().chat(), "150 tokens per minute");
    release();
    expect((await runs).status).toBe(200);
    await expect.poll(async () => (await next().chat()).status).toBe(200);
  });
  it("concurrent calls", async () => {
    const allowed = { options: ["--concurrent", "1"], claims: { lintel: { concurrent: 1 } } };
    const { next, release, server } = await caller(allowed);
    const runs = next().chat("wait");
    await server.received(1);
    refused(await next().chat(), "1 call at a time");
    release();
    expect((await runs).status).toBe(200);
    await expect.poll(async () => (await next().chat()).status).toBe(200);
  });
  it("images per day", async () => {
    const allowed = { options: ["--images-per-day", "3"], claims: { lintel: { images: 3 } } };
    const { next } = await caller(allowed);
    expect((await next().draw(2)).status).toBe(200);
    refused(await next().draw(2), "3 images per day");
    for (let i = 0; i < 2; i++) expect(await next().left()).toEqual({ images: 1 });
    expect((await next().draw(1)).status).toBe(200);
    expect((await next().chat()).status).toBe(200);
  });
  it("spend by the price table", async () => {
    const { next } = await caller({ options: ["--budget", "2/day"], claims: { plan: "small" } });
    // A start waits for what was used before, but not for ever.
    await expect.poll(() => next().left()).toEqual({ spend: 2 });
    expect((await next().draw(1)).status).toBe(200);
    expect(await next().left()).toEqual({ spend: 1 });
    expect((await next().draw(1)).status).toBe(200);
    refused(await next().draw(1), "2 per day");
    // What has no price goes on.
    expect((await next().chat()).status).toBe(200);
  });
});

it("what is left of a day or a budget is told rightly after a restart", async () => {
  const { server } = await modelServer();
  const limits = "limits: { caller: { images_per_day: 5, budget: { amount: 9, period: month } } }";
  const directory = mkdtempSync(join(tmpdir(), "lintel-account-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const text = settings(server.url, `${limits}\nstate: { directory: "${directory}" }`);
  const before = await gateway(text);
  expect((await asking(before.url, "me").draw(2)).status).toBe(200);
  // A start waits for what was used before, but not for ever.
  await expect.poll(() => asking(before.url, "me").left()).toEqual({ images: 3, spend: 7 });
  await before.running.close(0);
  const after = await gateway(text);
  await expect.poll(() => asking(after.url, "me").left()).toEqual({ images: 3, spend: 7 });
  expect(await asking(after.url, "other").left()).toEqual({ images: 5, spend: 9 });
});

it("a lifetime budget goes on after restarts, also when the records of its calls are deleted", async () => {
  const { server } = await modelServer();
  const directory = mkdtempSync(join(tmpdir(), "lintel-lifetime-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const token = createToken();
  const started = async (retention: string) => {
    const it = await gateway(
      settings(
        server.url,
        `
auth: { mode: token, tokens: [{ name: alice, hash: "${hashToken(token)}", limits: { budget: { amount: 9, period: lifetime } } }] }
limits: { global: { images_per_day: 50 } }
usage: { retention: ${retention} }
state: { directory: "${directory}" }`,
      ),
    );
    const alice = asking(it.url, token);
    await expect.poll(() => alice.left()).toMatchObject({ spend: expect.any(Number) });
    return { alice, close: () => it.running.close(0) };
  };
  const sql = openDatabase("sqlite", directory);
  onTestFinished(() => sql.close());
  const records = async () => (await rowsOf(sql, "SELECT id FROM lintel_usage")).length;

  const one = await started("90d");
  expect((await one.alice.draw(2)).status).toBe(200);
  await expect.poll(records).toBe(1);
  await one.close();
  const two = await started("1ms");
  expect(await two.alice.left()).toEqual({ spend: 7, images: 48 });
  expect((await two.alice.draw(2)).status).toBe(200);
  expect(await two.alice.left()).toEqual({ spend: 5, images: 46 });
  // It deletes what is old once it has brought in what is new.
  await expect.poll(records).toBe(0);
  await two.close();
  const { alice } = await started("1ms");
  expect(await alice.left()).toEqual({ spend: 5, images: 50 });
  expect((await alice.draw(6)).message).toContain("is left of a lifetime budget of 9");
});

it.skipIf(!redisBinary)("queues are fair to callers over all gateways with one Redis", async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const running = new Map<string, () => void>();
  const server = await Upstream.start(async (exchange) => {
    const said: string = exchange.json().messages.at(-1).content;
    await new Promise<void>((resolve) => running.set(said, resolve));
    await echo(exchange);
  });
  onTestFinished(() => server.close());
  const finish = (said: string) => {
    running.get(said)?.();
    running.delete(said);
  };
  const text = settings(
    server.url,
    `models: [{ name: chat, max_in_flight: 1 }]\nstate: { directory: state, redis: { url: "${redis.url}" } }`,
  );
  const [one, two] = [await gateway(text), await gateway(text)];
  const client = new Redis(redis.url);
  onTestFinished(() => client.disconnect());
  /** When each gateway spoke last, by the store's time, and whether it runs something. */
  const reports = async () =>
    (await client.hvals("lintel:{limits}:peers")).map((report) => ({
      at: Number(report.split(" ")[0]),
      runs: JSON.parse(report.slice(report.indexOf(" "))).running.length > 0,
    }));
  const ask = (at: typeof one, caller: string, said: string) => asking(at.url, caller).chat(said);

  const answers = [ask(one, "greedy", "elsewhere"), ask(two, "other", "first")];
  await server.received(2);
  await expect.poll(async () => (await reports()).map(({ runs }) => runs)).toEqual([true, true]);
  // Whoever has spoken since then has also heard.
  const known = Math.max(...(await reports()).map(({ at }) => at));
  await expect.poll(async () => (await reports()).every(({ at }) => at > known)).toBe(true);
  const waiting = () =>
    two.running.core.routing.snapshot().endpoints.find(({ model }) => model === "chat")?.waiting;
  answers.push(ask(two, "greedy", "came second"));
  await expect.poll(waiting).toBe(1);
  answers.push(ask(two, "modest", "came third"));
  await expect.poll(waiting).toBe(2);
  finish("first");
  await server.received(3);
  await expect.poll(() => [...running.keys()]).toEqual(["elsewhere", "came third"]);
  finish("came third");
  await expect.poll(() => [...running.keys()]).toEqual(["elsewhere", "came second"]);
  finish("came second");
  finish("elsewhere");
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});
