/** Guards among what else happens to calls: other targets, repeated calls, kept answers, reloads. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { gateway } from "../support/gateway.js";
import { startRedis } from "../support/redis.js";
import { asking, guardedGateway, modelServer, secret } from "./guarded-gateway.js";

const masked = "I am [email] .";

test("the next target is asked what the first was: the masked prompt", async () => {
  const broken = await modelServer((exchange) => exchange.sendJson(503, {}));
  const other = await modelServer();
  const { url } = await gateway(`backends:
  - { type: openai, name: a, url: "${broken.url}", models: [m] }
  - { type: openai, name: b, url: "${other.url}", models: [m] }
models: [{ name: m, targets: [{ backend: a, model: m }, { backend: b, model: m, priority: 1 }] }]
guards: [{ name: g, type: pattern, find: [email] }]`);
  const { chat } = asking(url);
  for (const stream of [false, true]) {
    const { status, text } = await chat(`I am ${secret} .`, { stream });
    expect([status, text.includes("[email]")]).toEqual([200, true]);
  }
  expect([...new Set(broken.prompts)]).toEqual([masked]);
  expect(other.prompts).toEqual([masked, masked]);
});

test("a call that is repeated gets what was delivered, masked or blocked", async () => {
  const { chat, prompts, write, reload, backends } = await guardedGateway(`guards:
  - { name: a, type: pattern, find: [email], look_at: [answers] }
  - { name: p, type: pattern, patterns: [bad], action: block }`);
  const asked = [
    () => chat(`I am ${secret} .`, {}, { "idempotency-key": "whole" }),
    () => chat(`I am ${secret} .`, { stream: true }, { "idempotency-key": "streamed" }),
    () => chat("bad", {}, { "idempotency-key": "blocked" }),
  ];
  const told = [];
  for (const ask of asked) told.push(await ask());
  expect(told.map(({ status }) => status)).toEqual([200, 200, 400]);
  // Nobody looks any more: what is given again is what was delivered.
  write(backends);
  await reload();
  for (const [i, ask] of asked.slice(0, 2).entries()) {
    const { text, headers } = await ask();
    expect(headers.get("idempotent-replayed")).toBe("true");
    expect(text).toBe(told[i]?.text);
    expect(text).toContain("[email]");
    expect(text).not.toContain(secret);
  }
  expect(prompts).toHaveLength(2);
});

test("answers that are kept in Redis are looked at each time, for questions as they were masked", async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const { chat, prompts } = await guardedGateway(`cache: { ttl: 1h, redis: { url: "${redis.url}" } }
guards:
  - { name: p, type: pattern, find: [email] }
  - { name: a, type: pattern, patterns: [said], look_at: [answers] }`);
  const first = await chat("I am me@example.com");
  const second = await chat("I am you@example.com");
  expect(second.headers.get("cache-status")).toMatch(/^lintel; hit/);
  for (const { text } of [first, second]) {
    expect(JSON.parse(text).choices[0].message.content).toBe("you [a] I am [email]");
  }
  expect(prompts).toEqual(["I am [email]"]);
});

test("a call that a guard looks at while it is taken away ends as that guard says", async () => {
  let asked: (all: { question: object; response: ServerResponse }) => void = () => {};
  const looking = new Promise<Parameters<typeof asked>[0]>((resolve) => {
    asked = resolve;
  });
  const server = createServer(async (request, response) => {
    const question = (await json(request)) as object;
    response.writeHead(200, { "content-type": "application/json" });
    asked({ question, response });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const { chat, prompts, write, reload, backends } = await guardedGateway(
    `guards: [{ name: g, type: webhook, url: "http://127.0.0.1:${port}" }]`,
  );
  const looked = chat("secret");
  const { question, response } = await looking;
  write(backends);
  await reload();
  expect((await chat("Hello")).status).toBe(200);
  response.end(JSON.stringify({ action: "block" }));
  const { status, text, headers } = await looked;
  expect([status, text.includes('was blocked by the guard \\"g\\"')]).toEqual([400, true]);
  expect(prompts).toEqual(["Hello"]);
  expect(question).toEqual({
    guard: "g",
    id: headers.get("x-request-id"),
    model: "m",
    caller: expect.stringMatching(/./),
    side: "prompt",
    texts: [{ field: "messages[0].content", role: "user", text: "secret" }],
  });
});
