/** `lintel top`: what a running gateway does now. */
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { loadConfig } from "../config/load.js";
import { socketsFolder } from "../config/telemetry.js";
import { parseJson } from "../core/json.js";
import { socketsIn } from "../operator.js";
import { isSocketPath, socketMessage, socketPathIn } from "../socket-path.js";
import type { Status } from "../telemetry/status.js";
import { type Command, configOptions, type Given, UsageError } from "./command.js";
import { out, say } from "./output.js";
import { screen, topView } from "./top-view.js";

/** Time between two looks, milliseconds. */
const interval = 1000;
/** Longest that a gateway may take to say how it stands, milliseconds. */
const patience = 5000;

export const top: Command = {
  summary: "shows what a running gateway does",
  details: `Models, targets, rates over the last ten seconds, and times of the last 128 calls in
milliseconds, anew every second until Ctrl-C. It reaches a gateway of this machine
and this user over a Unix socket in the state folder; telemetry.top: false closes it.`,
  options: {
    config: configOptions.config,
    socket: {
      value: "PATH",
      help: "the gateway's socket (default: in the configuration's state folder)",
    },
    pid: { value: "PID", help: "which gateway, where several run" },
    once: { help: "shows it once, for scripts" },
    json: { help: "shows it once, as JSON" },
  },
  async run(given) {
    const path = await socketOf(given);
    if (path === undefined) return 1;
    if (given.has("once") || given.has("json")) {
      const status = await look(path);
      if (!status) return gone(path);
      out(given.has("json") ? JSON.stringify(status, undefined, 2) : topView(status));
      return 0;
    }
    return watch(path);
  },
};

/** The socket to ask; `undefined`, and said why, if there is none or are several. */
async function socketOf(given: Given): Promise<string | undefined> {
  const named = given.text("socket");
  if (named !== undefined) {
    const path = named.startsWith("unix:") ? socketPathIn(named) : named;
    if (!isSocketPath(path)) throw new UsageError(`--socket ${socketMessage}`);
    return path;
  }
  const { config } = await loadConfig({ file: given.text("config") });
  const folder = socketsFolder(config.state.directory);
  if (!isSocketPath(join(folder, `${process.pid}.sock`))) {
    say(`lintel: no gateway can have a socket in ${folder}: the path is too long`);
    return undefined;
  }
  const found = await socketsIn(folder);
  const pid = given.text("pid");
  if (pid !== undefined) {
    if (!/^\d+(-\d+)?$/.test(pid)) throw new UsageError("--pid must be a process id");
    const path = found.get(pid);
    if (path === undefined)
      say(`lintel: no gateway of this state folder has the process id ${pid}`);
    return path;
  }
  const [only, ...others] = found.values();
  if (only === undefined) {
    say("lintel: no gateway runs here: none answers in the configuration's state folder");
    return undefined;
  }
  if (others.length === 0) return only;
  say(`lintel: several gateways run here; choose one with --pid: ${[...found.keys()].join(", ")}`);
  return undefined;
}

/** Shows it again and again, until Ctrl-C or until the gateway is gone. */
async function watch(path: string): Promise<number> {
  const { stdout } = process;
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  // The screen is another one, as editors have it: what was there before comes back.
  if (stdout.isTTY) stdout.write("\x1b[?1049h\x1b[?25l");
  let found = true;
  try {
    while (!stop.signal.aborted) {
      const status = await look(path, stop.signal);
      if (stop.signal.aborted) break;
      found = status !== undefined;
      if (!status) break;
      stdout.write(stdout.isTTY ? screen(topView(status), stdout) : `${topView(status)}\n\n`);
      await setTimeout(interval, undefined, { signal: stop.signal }).catch(() => {});
    }
  } finally {
    if (stdout.isTTY) stdout.write("\x1b[?25h\x1b[?1049l");
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  }
  return found ? 0 : gone(path);
}

function gone(path: string): number {
  say(`lintel: the gateway at ${path} does not answer`);
  return 1;
}

/** How a gateway stands; `undefined` if it does not answer. */
function look(socketPath: string, signal?: AbortSignal): Promise<Status | undefined> {
  return new Promise((resolve) => {
    const options = { socketPath, path: "/status", timeout: patience, signal };
    const asked = request(options, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (part: string) => {
        text += part;
      });
      answer.on("error", () => resolve(undefined));
      answer.on("end", () =>
        resolve(answer.statusCode === 200 ? (parseJson(text) as Status | undefined) : undefined),
      );
    });
    asked.on("timeout", () => asked.destroy());
    asked.on("error", () => resolve(undefined));
    asked.end();
  });
}
