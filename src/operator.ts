/**
 * The ways in for whoever operates a gateway: an address of its own for metrics,
 * and a Unix socket for `lintel top`. Who may open the socket is the file
 * system's matter: it belongs to the user that the gateway runs as. On Windows it is
 * a named pipe, and an empty file stands for it in the folder.
 */
import { chmod, readdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { FastifyPluginAsync } from "fastify";
import type { Logger } from "./core/log.js";
import type { MetricsForm } from "./core/telemetry.js";
import { metrics, status } from "./doors/watch.js";
import { listens } from "./listens.js";
import { createApp } from "./server/app.js";
import { listen } from "./server/listen.js";
import type { Address, ListenOptions } from "./server/settings.js";
import { isSocketPath, socketMessage, socketOf } from "./socket-path.js";
import { makeFolder } from "./state/directory.js";

/** What is opened. */
export interface OperatorSettings {
  /** Where metrics are read, besides the gateway's own addresses. */
  readonly prometheus?: Address | undefined;
  /** Folder of the sockets, one for each process; absent: none. */
  readonly sockets?: string | undefined;
}

/** What there is to see; what is off is absent. */
export interface Views {
  /** Metrics of this process as Prometheus reads them. */
  readonly own?: ((form: MetricsForm) => string) | undefined;
  /** The same of all processes that serve at the same addresses. */
  readonly all?: ((form: MetricsForm) => string | Promise<string>) | undefined;
  readonly status?: (() => object) | undefined;
  /** Whether the process is well, for probes that can't come in where callers do. */
  readonly health?: FastifyPluginAsync | undefined;
}

/** Ways in that are open. */
export interface Operator {
  close(): Promise<void>;
}

const extension = ".sock";
/** Sockets that this process opened; as a rule one. */
let opened = 0;

/**
 * Opens them. A socket that can't be opened is said in the log, and nothing more.
 * @throws as Node does if the address for metrics can't be listened on
 */
export async function openOperator(
  { prometheus, sockets }: OperatorSettings,
  { own, all, status: now, health }: Views,
  log: Logger,
): Promise<Operator> {
  const open: Operator[] = [];
  if (all && prometheus) {
    open.push(await openAt(prometheus, [metrics(all), ...(health ? [health] : [])]));
  }
  if (now && sockets) {
    const plugins = [status(now), ...(own ? [metrics(own)] : [])];
    const socket = await openSocket(sockets, plugins).catch((error: NodeJS.ErrnoException) => {
      log.warn({ path: sockets, code: error.code }, "no socket for lintel top can be opened");
    });
    if (socket) open.push(socket);
  }
  return {
    async close() {
      await Promise.all(open.map(({ close }) => close()));
    },
  };
}

async function openAt(
  address: ListenOptions,
  plugins: readonly FastifyPluginAsync[],
): Promise<Operator> {
  const app = await createApp({ corsOrigins: false });
  for (const plugin of plugins) await app.register(plugin);
  const listener = await listen(app, address);
  return {
    async close() {
      await listener.close(0);
      await app.close();
    },
  };
}

async function openSocket(
  folder: string,
  plugins: readonly FastifyPluginAsync[],
): Promise<Operator | undefined> {
  const path = join(folder, `${process.pid}${opened === 0 ? "" : `-${opened + 1}`}${extension}`);
  // Before anything is waited for: another one of this process may open at the same time.
  opened++;
  const at = socketOf(path);
  if (!isSocketPath(at)) throw Object.assign(new Error(socketMessage), { code: "ENAMETOOLONG" });
  // Nobody else comes in, whatever the mask for new files.
  makeFolder(folder);
  await sweep(folder);
  const socket = await openAt({ path: at, exclusive: true }, plugins);
  await (at === path ? chmod(path, 0o600) : writeFile(path, ""));
  return {
    async close() {
      await socket.close();
      await rm(path, { force: true });
    },
  };
}

/** Sockets of a folder at which a gateway answers, by the process's id. */
export async function socketsIn(folder: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const path of await socketFiles(folder)) {
    const at = socketOf(path);
    if ((await listens({ path: at })) === "yes") found.set(basename(path, extension), at);
  }
  return found;
}

/** Removes what processes left behind that were killed. */
async function sweep(folder: string): Promise<void> {
  for (const path of await socketFiles(folder)) {
    if ((await listens({ path: socketOf(path) })) === "refused") await rm(path, { force: true });
  }
}

async function socketFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => /^\d+(-\d+)?\.sock$/.test(name)).map((name) => join(folder, name));
}
