/** A real Prometheus reads a real gateway: the rules and the dashboard find there what they ask for. */
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { drawing } from "../backends/openai-images-subject.js";
import { echo } from "../backends/openai-subject.js";
import { type Script, Upstream } from "../backends/upstream.js";
import { gateway } from "../support/gateway.js";
import { Collector } from "./collector.js";
import { charts, filled } from "./grafana-dashboard.js";
import { root } from "./observability-page.js";
import { noPrometheus, why } from "./prometheus-programs.js";
import { startPrometheus } from "./prometheus-server.js";

/** Panels of what does not happen here. */
const empty = [
  ...["Time in the queue", "Embedded models' process ended"],
  ...["Issuers' keys", "Certificates end in"],
];

/** Answers, draws, thinks for whoever says so, and fails for others. */
const script: Script = async (exchange) => {
  if (exchange.request.path.endsWith("/images/generations"))
    return drawing("localai/image")(exchange);
  // It does not say what it is.
  if (exchange.request.method === "GET") return exchange.sendJson(404, {});
  const { content } = exchange.json().messages.at(-1);
  if (content === "think") return exchange.sendJson(200, thought);
  return content === "fail"
    ? exchange.sendJson(503, { error: { message: "scripted" } })
    : echo(exchange);
};

const thought = {
  choices: [{ index: 0, message: { content: "42", reasoning: "Hm." }, finish_reason: "stop" }],
  usage: {
    ...{ prompt_tokens: 8, completion_tokens: 4, total_tokens: 12 },
    prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
    completion_tokens_details: { reasoning_tokens: 2 },
  },
};

/** A gateway with two backends, and calls of all kinds. */
async function busyGateway() {
  const upstream = await Upstream.start(script);
  onTestFinished(() => upstream.close());
  const at = (name: string) =>
    `  - { type: openai, name: ${name}, url: "${upstream.url}", models: [m, scarce], image_models: [draw] }`;
  const it = await gateway(`
telemetry: { prometheus: true }
prices: [{ model: m, output: 1 }, { model: scarce, input: 1 }]
models:
  - { name: m, backends: [a, b], mirrors: [{ backend: b, model: scarce }, { backend: c, model: m }] }
  - { name: draw, targets: [{ backend: a, requests_per_minute: 60 }], mirrors: [{ backend: b }] }
  - { name: kept, model: m, backends: [a], cache_ttl: 1h }
routing: { retry: { floor: 1, budget: 0.0001 } }
admin: { tokens: [{ name: ops, hash: "sha256:0000000000000000000000000000000000000000000000000000000000000000" }] }
limits:
  models: [{ model: scarce, requests_per_minute: 0 }]
  global: { budget: { amount: 9, period: month } }
guards: [{ name: mail, type: pattern, find: [email] }]
budget_alerts: { url: "http://127.0.0.1:1" }
safety: { on_failure: open, checker: { type: moderation, url: "http://127.0.0.1:1" } }
backends:
${at("a")}
${at("b")}
  - { type: openai, name: c, url: "${upstream.url}" }
`);
  const headers = { authorization: "Bearer me", "content-type": "application/json" };
  const picture = { model_id: "draw", prompt: "a", width: 64, height: 64 };
  const draw = () => {
    const init = { method: "POST", headers, body: JSON.stringify(picture) };
    return fetch(`${it.url}/text-to-image`, init);
  };
  return {
    host: new URL(it.url).host,
    async calls(key: string) {
      const header = { "idempotency-key": key };
      const answers = [
        await it.chat("m", "Hello there", "me", header),
        await it.chat("m", "Hello there", "me", header),
        await it.chat("m", "think"),
        await it.chat("m", "I am me@example.com"),
        await it.chat("m", "fail"),
        await it.chat("kept"),
        await it.chat("kept"),
        await it.chat("scarce"),
        await draw(),
        await fetch(`${it.url}/lintel.admin.v1.TokensService/ListTokens`, {
          method: "POST",
          headers,
          body: "{}",
        }),
      ];
      for (const answer of answers) await answer.text();
      return answers.map(({ status }) => status);
    },
  };
}

describe.skipIf(noPrometheus)(`with a real Prometheus${why}`, () => {
  it("a value of a histogram has the trace of its call", async () => {
    const collector = await Collector.start();
    onTestFinished(() => collector.close());
    const upstream = await Upstream.start(script);
    onTestFinished(() => upstream.close());
    const it = await gateway(`
telemetry: { prometheus: true, otlp: { endpoint: "${collector.url}", protocol: http/json } }
backends: [{ type: openai, name: a, url: "${upstream.url}", models: [m] }]
`);
    await (await it.chat("m", "Hello")).text();
    const { traces } = await startPrometheus(
      new URL(it.url).host,
      join(root, "docs/prometheus-rules.yaml"),
    );
    const duration = "gen_ai_server_request_duration_seconds_bucket";
    await expect.poll(() => traces(duration)).toHaveLength(1);
    const [found] = await traces(duration);
    await it.running.close(0);
    expect(collector.spans.map(({ traceId }) => traceId)).toContain(found);
  });

  it("rules and panels find what a gateway tells", async () => {
    const { host, calls } = await busyGateway();
    const { query, rules } = await startPrometheus(host, join(root, "docs/prometheus-rules.yaml"));
    // A series is there once it was scraped, and has a rate once it grew after that.
    expect(await calls("first")).toEqual([200, 200, 200, 200, 503, 200, 200, 429, 200, 401]);
    // The last of the calls.
    const last = 'lintel_images_total{job="lintel", gen_ai_request_model="draw"}';
    await expect.poll(() => query(last)).toHaveLength(1);
    await calls("second");
    await expect.poll(() => query(`rate(${last}[1m]) > 0`)).toHaveLength(1);

    const silent: string[] = [];
    for (const { title, targets = [] } of charts) {
      for (const { expr } of targets) {
        if ((await query(filled(expr))).length === 0) silent.push(title);
      }
    }
    expect([...new Set(silent)]).toEqual(empty);
    // What there is of one model is there when only that is chosen.
    const [{ targets: [byModel] = [] } = {}] = charts.filter((it) => it.title === "Calls by model");
    const chosen = filled((byModel?.expr ?? "").replace("$model", "m"));
    expect((await query(chosen)).map(({ metric }) => metric)).toEqual([
      { gen_ai_request_model: "m" },
    ]);

    await expect
      .poll(async () => (await rules()).filter((it) => it.health === "unknown"))
      .toEqual([]);
    const loaded = await rules();
    expect(loaded.length).toBeGreaterThan(30);
    expect(loaded.filter((rule) => rule.health !== "ok" || rule.lastError)).toEqual([]);
    expect(loaded.filter(({ state }) => state === "firing")).toEqual([]);
    const share = 'lintel:requests_failed:ratio_rate5m{job="lintel", gen_ai_request_model="m"} > 0';
    await expect.poll(() => query(share)).toHaveLength(1);
    const first = 'lintel:time_to_first_token_seconds:p95_rate5m{gen_ai_request_model="m"}';
    expect(await query(first)).toHaveLength(1);
  });
});
