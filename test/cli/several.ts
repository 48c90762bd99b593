/** Several processes at one address, and what they say. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";
import { backend, type ModelServer, modelServer } from "../reload/model-server.js";
import { freePort } from "../support/port.js";
import { startRedis } from "../support/redis.js";
import { entry, folder, type Lintel, start } from "./lintel.js";

/** Workers that serve. */
export interface Gateway {
  readonly lintel: Lintel;
  readonly base: string;
  readonly server: ModelServer;
  readonly cwd: string;
  /** Writes its file anew. */
  write(more: string): void;
}

/** Two workers with a model `tiny`, once they listen, or so many of them. */
export async function gateway(
  more = "",
  env: NodeJS.ProcessEnv = {},
  listening = 2,
): Promise<Gateway> {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const server = await modelServer("tiny");
  // Not any free one: another would be free once all of them have ended.
  const port = await freePort();
  const text = (more: string) => `listen: ["127.0.0.1:${port}", "unix:./lintel.sock"]
workers: 2
state: { directory: ./state, redis: { url: "${redis.url}" } }
telemetry: { prometheus: true }
backends:
${backend("tiny", server.url)}${more}`;
  const cwd = folder({ "lintel.yaml": text(more) });
  const { lintel, base } = await startIn(cwd, env, listening);
  return {
    lintel,
    base,
    server,
    cwd,
    write: (more) => writeFileSync(join(cwd, "lintel.yaml"), text(more)),
  };
}

/** The workers of a folder's configuration, once they listen, or so many of them. */
export async function startIn(cwd: string, env: NodeJS.ProcessEnv = {}, listening = 2) {
  const lintel = startOne([], cwd, env);
  const [, base = ""] = await lintel.until(/ on (http:[^\s,]+)[\s\S]*curl [\s\S]*\n.*-d .*\n/);
  await lintel.saying(new RegExp(`(?:a worker listens[\\s\\S]*){${listening}}`));
  return { lintel, base };
}

/** Starts one that is gone when the test ends. */
export function startOne(...args: Parameters<typeof start>): Lintel {
  const lintel = start(...args);
  onTestFinished(async () => {
    if (lintel.running) lintel.kill("SIGKILL");
    await lintel.ended;
  });
  return lintel;
}

/** Two workers without models whose first process has other times. */
export async function impatient(times: string, env: NodeJS.ProcessEnv = {}): Promise<Lintel> {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const cwd = folder({
    "lintel.yaml": `listen: 127.0.0.1:0
workers: 2
timeouts: { shutdown: 1s }
state: { redis: { url: "${redis.url}" } }
backends: []
`,
    "impatient.mjs": `
const built = (path) => import(new URL(path, process.argv[2]));
const { loadConfig } = await built("config/load.js");
const { createLogger, logWriter } = await built("cli/logger.js");
const { Workers } = await built("workers/workers.js");
const { restartTimes } = await built("restart-pause.js");
const { heartbeatTimes } = await built("heartbeat.js");
const writer = logWriter();
const { config, file } = await loadConfig({});
const workers = new Workers(
  { config, file, log: createLogger("info", writer), lines: (text) => writer.write(text) },
  { ...restartTimes, ...heartbeatTimes, endMs: 15_000, ${times} },
);
await workers.start();
process.on("SIGTERM", () => workers.close(0));
`,
  });
  const modules = String(new URL("./", pathToFileURL(entry)));
  const lintel = startOne([modules], cwd, env, { program: join(cwd, "impatient.mjs") });
  await lintel.saying(/(?:a worker listens[\s\S]*){2}/);
  return lintel;
}

/** A call over a connection of its own: workers take turns with these. */
export const chat = (base: string, model = "tiny", content = "Hello", token = "me") =>
  fetch(`${base}/llm`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      connection: "close",
    },
    body: JSON.stringify({ model, messages: [{ role: "user", content }], stream: true }),
  });

export const linesOf = ({ stderr }: Lintel) =>
  stderr
    .trimEnd()
    .split("\n")
    .map(
      (line) => JSON.parse(line) as { msg: string; level: number; worker?: number; pid?: number },
    );

export const listening = (lintel: Lintel) =>
  linesOf(lintel).filter(({ msg }) => msg === "a worker listens");

/** An environment in which workers run this before anything else. */
export const inWorkers = (script: string): NodeJS.ProcessEnv =>
  preloading(`if (process.env.LINTEL_WORKER) { ${script} }`);

/** An environment in which all processes run this before anything else. */
export const preloading = (script: string): NodeJS.ProcessEnv => ({
  NODE_OPTIONS: `--import="data:text/javascript,${encodeURIComponent(script)}"`,
});

/** An environment in which no second passes: who gives servers that long to list their models waits on. */
export const noSeconds = preloading(`
const set = globalThis.setTimeout;
globalThis.setTimeout = (run, ms, ...more) => set(run, ms === 1000 ? 2 ** 30 : ms, ...more);`);
