/** docs/observability.md says what there is to see, and nothing else. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, fetch } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { tiny } from "../backends/llama-subject.js";
import { drawing } from "../backends/openai-images-subject.js";
import { echo } from "../backends/openai-subject.js";
import { type Script, Upstream } from "../backends/upstream.js";
import { lines, pdf } from "../documents/pdf.js";
import { gateway } from "../support/gateway.js";
import { names, page, root, rows } from "./observability-page.js";
import { samples } from "./support.js";

const pem = (name: string) => readFileSync(join(root, `test/fixtures/tls/${name}.pem`), "utf8");
const cert = pem("cert");

/** What an answer has of thoughts, and of a tier. */
const thinking = {
  service_tier: "default",
  message: { reasoning_content: "hm" },
  usage: {
    ...{ prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2, cache_write_1h_tokens: 1 },
    completion_tokens_details: { reasoning_tokens: 2 },
  },
};

/** Does what the last message says; without usage where that says so, and thinking likewise, which is cut. */
function server() {
  const draw = drawing("localai/image");
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const script: Script = async (exchange) => {
    if (exchange.request.path.endsWith("/images/generations")) return draw(exchange);
    // It does not say what it is.
    if (exchange.request.path.endsWith("/models")) return exchange.sendJson(404, {});
    const { messages, stream } = exchange.json();
    const said = messages.at(-1).content;
    if (said === "break") return exchange.destroy();
    if (said === "fail") return exchange.sendJson(503, { error: { message: "scripted" } });
    if (said === "wait") await released;
    if (Array.isArray(said)) return exchange.sendJson(400, { error: "Unknown part type: file" });
    if ((said !== "no usage" && said !== "think") || stream) return echo(exchange);
    const thought = said === "think" ? thinking : undefined;
    const message = { content: "x", ...thought?.message };
    const choices = [{ index: 0, message, finish_reason: thought ? "length" : "stop" }];
    return exchange.sendJson(200, {
      ...{ id: "1", created: 1, model: "m", choices },
      usage: thought?.usage,
      service_tier: thought?.service_tier,
    });
  };
  return { script, release };
}

/** All that a gateway tells when everything happened that it tells of. */
async function everything() {
  const { script, release } = server();
  const upstream = await Upstream.start(script);
  onTestFinished(() => upstream.close());
  const at = (name: string) =>
    `  - { type: openai, name: ${name}, url: "${upstream.url}", models: [m, narrow, scarce], image_models: [draw] }`;
  const configuration = `
telemetry: { prometheus: true }
log: { content: true }
tls: { cert: cert.pem, key: key.pem }
auth:
  mode: token
  tokens: [{ name: me, team: red, hash: "sha256:2744ccd10c7533bd736ad890f9dd5cab2adb27b07d500b9493f29cdc420cb2e0" }]
  oidc: [{ name: corp, issuer: "http://127.0.0.1:1", audience: lintel }]
admin: { tokens: [{ name: ops, hash: "sha256:0000000000000000000000000000000000000000000000000000000000000000" }] }
limits:
  models: [{ model: scarce, requests_per_minute: 0 }, { model: m, budget: { amount: 9, period: month } }]
  global: { budget: { amount: 9, period: month } }
  team: { budget: { amount: 9, period: month } }
  caller: { budget: { amount: 9, period: month } }
cache: { ttl: 1h }
guards: [{ name: mail, type: pattern, find: [email] }]
budget_alerts: { url: "http://127.0.0.1:1" }
safety: { on_failure: open, checker: { type: moderation, url: "http://127.0.0.1:1" } }
prices: [{ model: m, output: 1, tiers: { flex: {} } }, { model: scarce, input: 1 }]
models:
  - name: m
    backends: [a, b]
    cache_ttl: 0s
    mirrors: [{ backend: b, model: scarce }, { backend: c, model: m }]
  - { name: narrow, targets: [{ backend: a, requests_per_minute: 60 }], max_in_flight: 1 }
  - { name: draw, backends: [a], mirrors: [{ backend: b }] }
backends:
${at("a")}
${at("b")}
  - { type: openai, name: c, url: "${upstream.url}" }
  - { type: embedded, name: e, models: ["${tiny}"] }
`;
  const it = await gateway(configuration, { "cert.pem": cert, "key.pem": pem("key") });
  const dispatcher = new Agent({ connect: { ca: cert } });
  onTestFinished(() => dispatcher.close());
  const headers = {
    "content-type": "application/json",
    authorization: "Bearer me",
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  };
  const post = async (path: string, body: object, more = {}) => {
    const init = {
      method: "POST",
      headers: { ...headers, ...more },
      body: JSON.stringify(body),
      dispatcher,
    };
    await (await fetch(it.url + path, init)).text();
  };
  const chat = (content: unknown, more: object = {}, header = {}) =>
    post("/llm", { model: "m", messages: [{ role: "user", content }], ...more }, header);
  const key = { "idempotency-key": "k" };
  await chat("Hello", { stream: true }, key);
  await chat("Hello", { stream: true }, key);
  await chat("fail");
  await chat("break");
  await chat("no usage");
  await chat("think", { user: "u-1", service_tier: "flex" });
  await chat("I am me@example.com");
  const file_data = `data:application/pdf;base64,${pdf([lines("Hello")]).toString("base64")}`;
  await chat([{ type: "file", file: { file_data } }]);
  await chat("Hello", { model: "scarce" });
  await chat("Hello", { model: "narrow" });
  await chat("Hello", { model: "narrow" });
  const both = [1, 2].map((seed) => chat("wait", { model: "narrow", seed }));
  const waiting = () => it.running.core.routing.snapshot().endpoints.map((at) => at.waiting);
  await expect.poll(waiting).toContain(1);
  release();
  await Promise.all(both);
  const size = { width: 64, height: 64 };
  await post("/text-to-image", { model_id: "draw", prompt: "a", negative_prompt: "b", ...size });
  // Nobody is let in.
  await post("/lintel.admin.v1.TokensService/ListTokens", {});
  await post("/llm", {}, { authorization: "Bearer no" });
  await (await fetch(`${it.url}/v1/models`, { headers, dispatcher })).text();
  await it.running.core.idle();
  const metrics = await (await fetch(`${it.url}/metrics`, { dispatcher })).text();
  const calls = it.lines.filter(({ message }) => message === "call");
  return { metrics, fields: new Set(calls.flatMap(({ fields }) => definedKeys(fields))) };
}

const definedKeys = (fields: object) =>
  Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [name]));

describe("docs/observability.md", () => {
  let told: Awaited<ReturnType<typeof everything>>;

  it("has all metrics with their types and labels", async () => {
    told = await everything();
    const seen: Record<string, { type: string; labels: Set<string> }> = {};
    for (const [, name, type] of told.metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      seen[name as string] = { type: type as string, labels: new Set() };
    }
    for (const sample of samples(told.metrics).keys()) {
      const name = sample.replace(/\{.*/, "");
      const of = seen[name] ?? seen[name.replace(/_(bucket|sum|count)$/, "")];
      for (const [, label] of sample.matchAll(/[{,](\w+)="/g)) of?.labels.add(label as string);
      of?.labels.delete("le");
    }
    const documented = Object.fromEntries(
      rows("## Metrics").map(([name, , labels]) => [name?.[0], [...(labels ?? [])].sort()]),
    );
    const labels = Object.entries(seen).map(([name, of]) => [name, [...of.labels].sort()]);
    expect(documented).toEqual(Object.fromEntries(labels));
    for (const [name, { type }] of Object.entries(seen)) {
      expect(page).toMatch(new RegExp(`^\\| \`${name}\` \\| ${type} \\|`, "m"));
    }
  });
  it("has all fields of a call's line", () => {
    const documented = names("## Logs");
    expect([...told.fields].sort()).toEqual(documented.sort());
  });
});

describe("docs/observability.md, by what stands in the code", () => {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(join(root, "src", name), "utf8"))
    .join("\n");
  const quoted = (file: string, pattern: RegExp) => {
    const text = readFileSync(join(root, "src", file), "utf8");
    return new Set([...text.matchAll(pattern)].map(([, name]) => name as string));
  };

  it("has all attributes of spans", () => {
    const attribute = /"((?:gen_ai|openai|lintel|error|enduser|user)\.[\w.]+)"/g;
    const files = ["telemetry/span-attributes.ts", "telemetry/call-traces.ts"];
    const used = new Set(files.flatMap((file) => [...quoted(file, attribute)]));
    expect(names("## Traces").sort()).toEqual([...used].sort());
  });
  it("has all headers that callers may read", () => {
    const list = /const exposedHeaders = \[([^;]+)\];/.exec(sources)?.[1] ?? "";
    const plain = [...list.matchAll(/^ {2}"([\w-]+)"/gm)].map(([, name]) => name as string);
    const limits = ["requests", "tokens"].flatMap((quantity) =>
      ["limit", "remaining", "reset"].map((what) => `x-ratelimit-${what}-${quantity}`),
    );
    expect(plain.length).toBeGreaterThan(5);
    // Of gRPC alone, which no page speaks.
    const all = [...plain, ...limits, "grpc-retry-pushback-ms"];
    expect(names("## What callers see").sort()).toEqual(all.sort());
  });
});
