/** `lintel top`: what a running gateway does now. */
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { loadFields } from "../config/load.js";
import { socketsFolder } from "../config/telemetry.js";
import { parseJson } from "../core/json.js";
import { socketsIn } from "../operator.js";
import { isSocketPath, socketMessage, socketOf, socketPathIn } from "../socket-path.js";
import { mergedStatus } from "../telemetry/merged-status.js";
import type { Status } from "../telemetry/status.js";
import { elsewhereOptions, isRemote, withStatus } from "./administered.js";
import { type Command, configOptions, type Given, UsageError } from "./command.js";
import { canRedraw, out, say } from "./output.js";
import { screen, topView } from "./top-view.js";

/** Time between two looks, milliseconds. */
const interval = 1000;
/** Longest that a gateway may take to say how it stands, milliseconds. */
const patience = 5000;

export const top: Command = {
  summary: "shows what a running gateway does",
  details: `Models, targets, rates over the last ten seconds, and times of the last 128 calls in
milliseconds, anew every second until Ctrl-C. It reaches a gateway of this machine
and this user over a Unix socket in the state folder; telemetry.top: false closes it.
With --server it asks a gateway elsewhere, as administrators may.`,
  options: {
    config: configOptions.config,
    socket: {
      value: "PATH",
      help: "the gateway's socket (default: in the configuration's state folder)",
    },
    pid: { value: "PID", help: "which gateway, where several run, or one worker of several" },
    ...elsewhereOptions,
    once: { help: "shows it once, for scripts" },
    json: { help: "shows it once, as JSON" },
  },
  async run(given) {
    if (isRemote(given)) {
      const path = given.text("server") ?? "";
      return withStatus(given, (look) => show(given, { path, look }));
    }
    const place = await placeOf(given);
    return place === undefined ? 1 : show(given, place);
  },
};

/** Shows a gateway as the options say. */
async function show(given: Given, place: Place): Promise<number> {
  if (!given.has("once") && !given.has("json")) return watch(place);
  const status = await place.look();
  if (!status) return gone(place);
  out(given.has("json") ? JSON.stringify(status, undefined, 2) : topView(status));
  return 0;
}

/** A gateway that can be looked at. */
interface Place {
  /** Its socket, or that of one of its workers; or its address. */
  readonly path: string;
  /** How it stands; `undefined` if it does not answer. */
  look(signal?: AbortSignal): Promise<Status | undefined>;
}

const placeAt = (path: string): Place => ({ path, look: (signal) => look(path, signal) });

/** What to look at; `undefined`, and said why, if there is none or are several. */
async function placeOf(given: Given): Promise<Place | undefined> {
  const named = given.text("socket");
  if (named !== undefined) {
    const path = socketOf(named.startsWith("unix:") ? socketPathIn(named) : named);
    if (!isSocketPath(path)) throw new UsageError(`--socket ${socketMessage}`);
    return placeAt(path);
  }
  const { config } = await loadFields(["state.directory", "telemetry.top"], {
    file: given.text("config"),
  });
  const folder = socketsFolder(config.state.directory);
  if (!isSocketPath(socketOf(join(folder, `${process.pid}.sock`)))) {
    say(`lintel: no gateway can have a socket in ${folder}: the path is too long`);
    return undefined;
  }
  const found = await socketsIn(folder);
  const pid = given.text("pid");
  if (pid !== undefined && !/^\d+(-\d+)?$/.test(pid)) {
    throw new UsageError("--pid must be a process id");
  }
  const own = pid === undefined ? undefined : found.get(pid);
  if (own !== undefined) return placeAt(own);
  const [only, ...others] = found.values();
  if (only !== undefined && others.length === 0 && pid === undefined) return placeAt(only);
  const all = await statusesIn(folder);
  const gateways = [...new Set(all.map(({ gateway }) => gateway))];
  const wanted = gateways.filter((one) => pid === undefined || String(one) === pid);
  const [gateway, ...more] = wanted;
  if (gateway === undefined || only === undefined) {
    const closed = config.telemetry.top ? "" : ", where telemetry.top: false lets none";
    say(
      pid === undefined
        ? `lintel: no gateway runs here: none answers in ${folder}${closed}`
        : `lintel: no gateway of this state folder has the process id ${pid}`,
    );
    return undefined;
  }
  if (more.length > 0) {
    say(`lintel: several gateways run here; choose one with --pid: ${gateways.join(", ")}`);
    return undefined;
  }
  return {
    path: only,
    async look(signal) {
      const [first, ...rest] = (await statusesIn(folder, signal)).filter(
        (status) => status.gateway === gateway,
      );
      return first && mergedStatus([first, ...rest]);
    },
  };
}

/** How all gateways of a folder stand that answer, workers one by one. */
async function statusesIn(folder: string, signal?: AbortSignal): Promise<Status[]> {
  const sockets = await socketsIn(folder);
  const all = await Promise.all([...sockets.values()].map((path) => look(path, signal)));
  return all.filter((status) => status !== undefined);
}

/** Shows it again and again, until Ctrl-C or until the gateway is gone. */
async function watch(place: Place): Promise<number> {
  const { stdout } = process;
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  // The screen is another one, as editors have it: what was there before comes back.
  const redraws = canRedraw(stdout);
  if (redraws) stdout.write("\x1b[?1049h\x1b[?25l");
  let found = true;
  try {
    while (!stop.signal.aborted) {
      const status = await place.look(stop.signal);
      if (stop.signal.aborted) break;
      found = status !== undefined;
      if (!status) break;
      stdout.write(redraws ? screen(topView(status), stdout) : `${topView(status)}\n\n`);
      await setTimeout(interval, undefined, { signal: stop.signal }).catch(() => {});
    }
  } finally {
    if (redraws) stdout.write("\x1b[?25h\x1b[?1049l");
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  }
  return found ? 0 : gone(place);
}

function gone({ path }: Place): number {
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
