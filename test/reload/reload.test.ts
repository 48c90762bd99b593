/** Another configuration. */
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { openaiSchema } from "../../src/backends/openai/schema.js";
import { reloadOnSignal } from "../../src/cli/reload.js";
import { resolveBackends } from "../../src/config/backends.js";
import { configSchema } from "../../src/config/schema.js";
import type { Backend } from "../../src/core/backend.js";
import { hashToken } from "../../src/core/tokens.js";
import type { Json } from "../contract/wire.js";
import { gateway } from "../support/gateway.js";
import { backend, modelServer, statusOf } from "./model-server.js";

test("a new backend and a new token work; what is gone is gone", async () => {
  const [a, b] = [await modelServer("a"), await modelServer("b")];
  const token = (secret: string) => `auth:
  mode: token
  tokens: [{ name: x, hash: "${hashToken(secret)}" }]
backends:
`;
  const it = await gateway(token("first") + backend("a", a.url));
  expect(await statusOf(it.chat("a", "Hello", "first"))).toBe(200);
  expect(await statusOf(it.chat("a", "Hello", "second"))).toBe(401);

  it.write(token("second") + backend("b", b.url));
  await it.reload();
  expect(await statusOf(it.chat("b", "Hello", "second"))).toBe(200);
  expect(await statusOf(it.chat("b", "Hello", "first"))).toBe(401);
  expect(await statusOf(it.chat("a", "Hello", "second"))).toBe(404);
  expect((await it.said("configuration reloaded")).fields).toEqual({
    why: "test",
    changed: ["auth", "backends"],
    added: ["b"],
    removed: ["a"],
  });
  await a.left();
});

test("model servers that were found stay though they do not answer, and others are added", async () => {
  const config = configSchema.parse({});
  const entry = (name: string) => openaiSchema.parse({ type: "openai", name, url: "http://o" });
  let answering = ["ollama", "vllm"];
  const find = async () => answering.map(entry);
  const first = await resolveBackends(config, undefined, find);
  expect(first.map(({ name }) => name)).toEqual(["embedded", "ollama", "vllm"]);
  answering = ["lmstudio", "vllm"];
  const second = await resolveBackends(config, first, find);
  expect(second.map(({ name }) => name)).toEqual(["embedded", "ollama", "vllm", "lmstudio"]);
  expect(second.slice(0, 3)).toEqual(first);
  const named = configSchema.parse({ backends: [{ type: "embedded", name: "mine" }] });
  expect(await resolveBackends(named, second, find)).toEqual(named.backends);
});

test("a stream ends under the configuration that it began under, over two reloads", async () => {
  const [a, b] = [await modelServer("a"), await modelServer("b")];
  const it = await gateway(`backends:\n${backend("a", a.url)}`);
  const before = it.running.backends[0]?.backend as Backend;
  const closed = vi.spyOn(before, "close");
  const answer = await it.chat("a", "wait");
  const reader = answer.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const decoder = new TextDecoder();
  let text = decoder.decode((await reader.read()).value);
  expect(text).toContain("one");

  it.write(`backends:\n${backend("a", a.url)}${backend("b", b.url)}`);
  await it.reload();
  expect(it.running.backends[0]?.backend).toBe(before);
  it.write(`backends:\n${backend("b", b.url)}`);
  await it.reload();
  expect(await statusOf(it.chat("a"))).toBe(404);
  expect(await statusOf(it.chat("b"))).toBe(200);
  expect(it.running.core.readiness.running).toBe(1);
  expect(closed).not.toHaveBeenCalled();

  a.release();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value);
  }
  expect(text).toContain(" two");
  expect(text).not.toContain("error");
  // Nobody needs the backend any more: it lets go of its server.
  await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(1));
  await a.left();
  expect(it.running.core.readiness.running).toBe(0);
});

/** A stream that has begun, under a configuration that another one has replaced. */
async function outlived() {
  const [a, b] = [await modelServer("a"), await modelServer("b")];
  const it = await gateway(`backends:\n${backend("a", a.url)}`);
  const { body } = await it.chat("a", "wait");
  const reader = body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const decoder = new TextDecoder();
  expect(decoder.decode((await reader.read()).value)).toContain("one");
  it.write(`backends:\n${backend("b", b.url)}`);
  await it.reload();
  const rest = async () => {
    let text = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value);
    }
    return text;
  };
  return { a, running: it.running, rest };
}

test("a shutdown waits for a stream that began before a reload", async () => {
  const { a, running, rest } = await outlived();
  const closed = running.close(600_000);
  let drained = false;
  const drain = running.core.drain().then(() => {
    drained = true;
  });
  await setImmediate();
  expect(drained).toBe(false);
  a.release();
  const text = await rest();
  expect(text).toContain(" two");
  expect(text).not.toContain("error");
  await Promise.all([drain, closed]);
});

test("a shutdown without grace ends a stream that began before a reload, and says so", async () => {
  const { running, rest } = await outlived();
  const closed = running.close(0);
  const text = await rest();
  expect(text).toContain("shutting_down");
  expect(text).toContain("[DONE]");
  await closed;
});

test("health checks go on after a reload, of the backends that it names alone", async () => {
  const [a, b] = [await modelServer("a"), await modelServer("b")];
  const checking = (names: string) => `routing:
  health: { check: { interval: 10ms, backends: [${names}] } }
backends:
${backend("a", a.url)}${backend("b", b.url)}`;
  const it = await gateway(checking("a, b"));
  await vi.waitFor(() => expect(Math.min(a.listed, b.listed)).toBeGreaterThan(0), 20_000);
  it.write(checking("b"));
  await it.reload();
  const before = [a.listed, b.listed] as const;
  await vi.waitFor(() => expect(b.listed).toBeGreaterThan(before[1] + 20), 20_000);
  // One may have been under way.
  expect(a.listed).toBeLessThanOrEqual(before[0] + 1);
});

test("the log's level applies at once, and that of a bad file does not", async () => {
  const a = await modelServer("a");
  const backends = `backends:\n${backend("a", a.url)}`;
  const it = await gateway(`log: { level: info }\n${backends}`);
  for (const [level, more, expected] of [
    ["debug", "", "debug"],
    ["error", "bakends: []\n", "debug"],
    ["warn", "", "warn"],
  ]) {
    it.write(`log: { level: ${level} }\n${more}${backends}`);
    await it.reload();
    expect(it.options.log.level).toBe(expected);
  }
});

test("a bad file is refused with all its mistakes, and the old one stays", async () => {
  const a = await modelServer("a");
  const it = await gateway(`backends:\n${backend("a", a.url)}`);
  it.write("bakends: []\ntimeouts: { total: soon }\n");
  await it.reload();
  const mistakes = it.lines.filter(({ level }) => level === "error");
  expect(mistakes.map(({ fields, message }) => fields.problem ?? message)).toEqual([
    expect.stringMatching(/^lintel\.yaml:3:1: bakends: unknown key/),
    expect.stringMatching(/^lintel\.yaml:4:20: timeouts\.total: must be a duration/),
    "configuration not reloaded: the one before stays",
  ]);
  expect(await statusOf(it.chat("a"))).toBe(200);
});

test.each(["", "\n\n", "# begins so\n\n--- # and so\n...\n", "\ufeff # all of it\r\n"])(
  "a file that is empty (%j) lets nobody in: the old one stays",
  async (text) => {
    const a = await modelServer("a");
    const it = await gateway(`auth: { mode: token }\nbackends:\n${backend("a", a.url)}`);
    writeFileSync(join(it.cwd, "lintel.yaml"), text);
    await it.reload();
    expect(await statusOf(it.chat("a"))).toBe(401);
    expect((await it.said("mistake in the new configuration")).fields.problem).toMatch(
      /^lintel\.yaml: is empty/,
    );
  },
);

test("a file that is gone lets nobody in, either: nothing stands in its place", async () => {
  const a = await modelServer("a");
  const it = await gateway(`auth: { mode: token }\nbackends:\n${backend("a", a.url)}`);
  rmSync(join(it.cwd, "lintel.yaml"));
  await it.reload();
  expect(await statusOf(it.chat("a"))).toBe(401);
  expect((await it.said("mistake in the new configuration")).fields.problem).toBe(
    "lintel.yaml: there is no such file",
  );
});

test("what needs a restart is named, the rest applies", async () => {
  const [a, b] = [await modelServer("a"), await modelServer("b")];
  const it = await gateway(`backends:\n${backend("a", a.url)}`);
  const next = `body_limit: 2MiB\nidempotency: { linger: 1s }\nbackends:\n${backend("a", a.url)}${backend("b", b.url)}`;
  it.write(next);
  await it.reload();
  expect((await it.said("configuration reloaded")).fields).toMatchObject({
    changed: ["backends", "idempotency.linger"],
    added: ["b"],
    removed: [],
  });
  const message = "these changes of the configuration apply after a restart";
  expect((await it.said(message)).fields).toEqual({ fields: ["body_limit"] });
  expect(await statusOf(it.chat("b"))).toBe(200);
});

test("models and defaults that lead nowhere are said, once their server listed its models", async () => {
  const a = await modelServer("a");
  const backends = `backends: [{ type: openai, name: a, url: "${a.url}" }]\n`;
  const it = await gateway("backends: []\n");
  it.write(
    `default_models: { chat: big, image: a }\nmodels: [{ name: a }, { name: m, model: large }]\n${backends}`,
  );
  await it.reload();
  const said = it.lines.filter(({ message }) => /leads nowhere|default model/.test(message));
  expect(said.map(({ fields }) => fields.model ?? fields.problem)).toEqual([
    "m",
    'there is no model "big"',
    'the model "a" does not make images',
  ]);
});

test("mirrors that lead nowhere are said, once their server listed its models", async () => {
  const [a, b, tagged] = [
    await modelServer("a"),
    await modelServer("b-1"),
    await modelServer("c:latest"),
  ];
  const at = (name: string, url: string) => `  - { type: openai, name: ${name}, url: "${url}" `;
  const it = await gateway("backends: []\n");
  it.write(`models:
  - name: a
    backends: [a]
    mirrors: [{ backend: b, model: b-1 }, { backend: b, model: none }, { backend: tagged, model: c }, { backend: tagged }, { backend: away }]
  - { name: "x-*", targets: [{ backend: a, model: a }], mirrors: [{ backend: b, model: "b-*" }, { backend: b, model: "d-*" }] }
backends:
${at("a", a.url)}}
${at("b", b.url)}}
${at("away", "http://127.0.0.1:1")}}
${at("tagged", tagged.url)}, dialect: ollama }
`);
  await it.reload();
  const message = "a mirror leads nowhere: its backend has no such model";
  const said = it.lines.filter((line) => line.message === message);
  expect(said.map(({ fields }) => fields)).toEqual([
    { model: "a", backend: "b", mirror: "none" },
    { model: "a", backend: "tagged", mirror: "a" },
    { model: "x-*", backend: "b", mirror: "d-*" },
  ]);
});

test("limits and prices of a name without Ollama's tag are said: calls count by the whole name", async () => {
  const a = await modelServer("tiny:latest");
  const it = await gateway(`backends: [{ type: openai, name: a, url: "${a.url}", dialect: ollama }]
limits: { models: [{ model: tiny, concurrent: 9 }, { model: "tiny:latest", concurrent: 9 }, { model: "t*", concurrent: 9 }] }
prices: [{ model: "else" }, { model: tiny }]
`);
  await it.reload();
  const message = "a limit, a price or a guard is of a name by which no call counts";
  const said = it.lines.filter((line) => line.message === message);
  expect(said.map(({ fields }) => fields)).toEqual(
    ["limits.models[0].model", "prices[1].model"].map((field) => {
      return { field, model: "tiny", counts: "tiny:latest" };
    }),
  );
});

test("models that check no images themselves are said where harmful ones are to be withheld", async () => {
  const models =
    "[{ id: blind, task: image, supports: [] }, { id: sees, task: image }, { id: talks, task: chat, supports: [] }]";
  const backends = `backends: [{ type: rest, name: r, url: "http://127.0.0.1:1", models: ${models} }]\n`;
  const it = await gateway(backends);
  const said = async (more: string) => {
    it.lines.length = 0;
    it.write(`${backends}models: [{ name: blind, aliases: [also] }]\n${more}`);
    await it.reload();
    return it.lines.filter(({ level }) => level === "warn");
  };
  const message = "nobody looks at a model's images";
  expect(await said("safety: { action: block }\n")).toEqual([
    { level: "warn", message, fields: { model: "blind", backend: "r", action: "block" } },
  ]);
  expect(await said("")).toEqual([]);
});

test("a reload with nothing new, many at once, and one after the end", async () => {
  const a = await modelServer("a");
  const it = await gateway(`backends:\n${backend("a", a.url)}`);
  await Promise.all([it.reload(), it.reload(), it.reload()]);
  expect(await statusOf(it.chat("a"))).toBe(200);
  await it.running.close(0);
  it.lines.length = 0;
  await it.reload();
  const message = "configuration not reloaded: this gateway is shutting down";
  expect(it.lines).toMatchObject([{ level: "info", message, fields: { why: "test" } }]);
});

test("what may be a mistake in another configuration is told as at the start", async () => {
  const it = await gateway("log: { level: info }\n");
  it.write("routing: { retry: { attempts: 1, blocked: true } }\n");
  await it.reload();
  const { level, fields } = await it.said("this may be a mistake in the configuration");
  expect([level, fields]).toEqual([
    "warn",
    { problem: "routing.retry.blocked does nothing: routing.retry.attempts is 1" },
  ]);
});

test("a SIGHUP that comes before there is a gateway has the file read once there is", async () => {
  const it = await gateway("log: { level: info }\n");
  const others = new Set(process.listeners("SIGHUP"));
  const begin = reloadOnSignal();
  onTestFinished(() => {
    for (const one of process.listeners("SIGHUP")) if (!others.has(one)) process.off("SIGHUP", one);
  });
  process.emit("SIGHUP");
  it.write("expose_sources: true\n");
  begin(it.options);
  const first = await it.said("configuration reloaded");
  expect(first.fields).toMatchObject({ why: "SIGHUP", changed: ["expose_sources"] });
  it.lines.length = 0;
  it.write("");
  process.emit("SIGHUP");
  expect((await it.said("configuration reloaded")).fields.changed).toEqual(["expose_sources"]);
});

test("limits go on counting under their new numbers, and first answers are kept", async () => {
  const a = await modelServer("a");
  const config = (requests: number) =>
    `limits: { caller: { requests_per_minute: ${requests} } }\nbackends:\n${backend("a", a.url)}`;
  const it = await gateway(config(2));
  const ask = async (headers = {}) => {
    const answer = await it.chat("a", "Hello", "me", headers);
    await answer.text();
    return [answer.status, answer.headers.get("idempotent-replayed")];
  };
  const keyed = { "idempotency-key": "first" };
  expect(await ask(keyed)).toEqual([200, null]);
  expect(await ask()).toEqual([200, null]);
  it.write(config(3));
  await it.reload();
  expect(await ask(keyed)).toEqual([200, "true"]);
  expect(await ask()).toEqual([200, null]);
  expect(await ask()).toEqual([429, null]);
});

test("limits apply where there were none before", async () => {
  const a = await modelServer("a");
  const backends = `backends:\n${backend("a", a.url)}`;
  const it = await gateway(backends);
  expect(await statusOf(it.chat("a"))).toBe(200);
  it.write(`limits: { caller: { requests_per_minute: 1 } }\n${backends}`);
  await it.reload();
  expect([await statusOf(it.chat("a")), await statusOf(it.chat("a"))]).toEqual([200, 429]);
});

test("a budget that is new counts what was used before, also by calls that still ran", async () => {
  const a = await modelServer("a");
  const rest = `prices: [{ model: a, input: 10 }]\nbackends:\n${backend("a", a.url)}`;
  const budget = (amount: number) =>
    `limits: { global: { budget: { amount: ${amount}, period: month } } }\n${rest}`;
  // So much that what asks whether it is used up does not use it up.
  const unit = "x".repeat(400_000);
  const it = await gateway(rest);
  await (await it.chat("a", unit)).text();
  const running = await it.chat("a", `wait${unit}`);
  const usedUp = () => vi.waitFor(async () => expect(await statusOf(it.chat("a"))).toBe(429));
  it.write(budget(1));
  await it.reload();
  // On a busy machine the records are read behind the reload.
  await usedUp();
  it.write(rest);
  await it.reload();
  it.write(budget(2).replace("month", "week"));
  await it.reload();
  expect(await statusOf(it.chat("a"))).toBe(200);
  a.release();
  await running.text();
  await usedUp();
});

test("times of the doors apply at once", async () => {
  const silent = createServer((request) => request.resume()).listen(0, "127.0.0.1");
  onTestFinished(() => silent.close().closeAllConnections());
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const backends = `backends:\n${backend("a", `http://127.0.0.1:${port}`)}`;
  const it = await gateway(`timeouts: { first_message: 1h }\n${backends}`);
  it.write(`timeouts: { first_message: 0, keep_alive: 10ms }\n${backends}`);
  await it.reload();
  const answer = await it.chat("a");
  expect(answer.status).toBe(200);
  const reader = answer.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toContain(": keep-alive");
  await reader?.cancel();
});

test("bounds are described as they are by then", async () => {
  const a = await modelServer("a");
  const backends = `backends:\n${backend("a", a.url)}`;
  const it = await gateway(`bounds: { max_tokens: { max: 512 } }\n${backends}`);
  const described = async () => {
    const answer = await fetch(`${it.url}/openapi.json`);
    const { components } = (await answer.json()) as Json;
    return components.schemas.LLMRequest.properties.max_tokens.maximum;
  };
  expect(await described()).toBe(512);
  it.write(`bounds: { max_tokens: { max: 256 } }\n${backends}`);
  await it.reload();
  expect(await described()).toBe(256);
  it.write(backends);
  await it.reload();
  expect(await described()).toBe(2 ** 31 - 1);
});
