import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { silent } from "../../src/core/log.js";
import { loadLibrary } from "../../src/telemetry/library.js";
import { openTelemetry } from "../../src/telemetry/open.js";
import { build, folder } from "../cli/lintel.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

const off = { prometheus: false, status: false, providers: new Map(), version: "1" };

test("all of it off is nothing at all", async () => {
  expect(await openTelemetry(off, silent)).toBeUndefined();
});

/** Addresses of the modules that a process loaded when it served and answered. */
function loadedBy(telemetry: string): string[] {
  const cwd = folder({
    "run.mjs": `import { register } from "node:module";
const seen = new Set();
const { port1, port2 } = new MessageChannel();
port1.on("message", (url) => seen.add(url));
port1.unref();
register("data:text/javascript," + encodeURIComponent(\`
  let port;
  export const initialize = (data) => { port = data.port; };
  export const resolve = async (name, context, next) => {
    port.postMessage(name);
    return next(name, context);
  };\`), { data: { port: port2 }, transferList: [port2] });
const { start } = await import(process.env.DIST + "/src/gateway.js");
const { configSchema } = await import(process.env.DIST + "/src/config/schema.js");
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const gateway = await start(configSchema.parse(JSON.parse(process.env.CONFIG)), silent);
const { url } = gateway.listeners[0];
const answer = await fetch(url + "/v1/models", { headers: { authorization: "Bearer x" } });
await answer.text();
await gateway.close(0);
// What the other thread saw comes in its order: with this one, all before it is here.
await import("node:punycode");
while (![...seen].includes("node:punycode")) await new Promise(setImmediate);
console.log(JSON.stringify({ status: answer.status, seen: [...seen].filter((it) => it.includes("opentelemetry")) }));
process.exit(0);
`,
  });
  const config = `{"listen":"127.0.0.1:0","backends":[],"state":{"directory":"${cwd}"},"telemetry":${telemetry}}`;
  const out = execFileSync(process.execPath, ["run.mjs"], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, CONFIG: config, DIST: `file://${root}/dist` },
  });
  const { status, seen } = JSON.parse(out.trim().split("\n").at(-1) ?? "");
  expect(status).toBe(200);
  return seen;
}

test("without OTLP nothing of OpenTelemetry is loaded, with it, it is", () => {
  build();
  expect(loadedBy("{}")).toEqual([]);
  expect(loadedBy('{"prometheus":true}')).toEqual([]);
  // The hook sees what it should see.
  expect(loadedBy('{"otlp":{"endpoint":"http://127.0.0.1:9"}}')).toContain(
    "@opentelemetry/sdk-metrics",
  );
});

test("a package that is missing is named, with what to do", async () => {
  const missing = Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
  const load = async (name: string) => {
    if (name.includes("trace-otlp")) throw missing;
    return {};
  };
  const named = { "http/protobuf": "proto", "http/json": "http" } as const;
  for (const [protocol, end] of Object.entries(named)) {
    const traces = protocol as keyof typeof named;
    await expect(loadLibrary({ traces, metrics: traces }, load)).rejects.toThrow(
      new RegExp(`npm install .*@opentelemetry/exporter-trace-otlp-${end}$`),
    );
  }
});
