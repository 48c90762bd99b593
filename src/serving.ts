/** A core behind its doors, at its addresses. */

import type { FastifyInstance } from "fastify";
import { atMost } from "./core/abort.js";
import type { Administration } from "./core/admin/administration.js";
import type { Core } from "./core/core.js";
import type { Door, DoorSettings, StreamHandler } from "./doors/door.js";
import { operations } from "./doors/operations.js";
import { adminBodyLimit } from "./doors/rpc/administration.js";
import { admitGrpc, contractMethods } from "./doors/rpc/contract.js";
import { grpcEdge } from "./doors/rpc/edge/edge.js";
import { adminRpc } from "./doors/rpc/rpc.js";
import { createApp } from "./server/app.js";
import { type Listener, listen } from "./server/listen.js";
import type { AppSettings, ListenOptions } from "./server/settings.js";

/** What is served, and where. */
export interface ServingOptions {
  readonly core: Core;
  readonly doors: readonly Door[];
  readonly doorSettings: DoorSettings;
  /** Served beside the calls; absent: it is not. */
  readonly administration?: Administration | undefined;
  readonly appSettings: Partial<AppSettings>;
  /** At least one. */
  readonly listen: readonly ListenOptions[];
}

/** Doors that are open. */
export interface Serving {
  /** In the order of `listen`. */
  readonly listeners: readonly Listener[];
  /**
   * Takes no more connections, and serves for up to a second calls that come on those that are there, whose
   * clients are told to make others. Then refuses new calls, lets those that run end and their answers
   * arrive, aborts them after the grace, and closes every connection. Always resolves; a second call
   * waits for the first.
   * @param graceMs milliseconds
   */
  close(graceMs: number): Promise<void>;
}

/** How long calls may still come on connections that clients keep, milliseconds. */
const lingerMs = 1000;

/** How long answers may take to reach their callers after the grace, milliseconds. */
const flushMs = 2000;

/**
 * Opens the doors.
 * @throws as Node does if an address is in use or not allowed; nothing is left open then
 */
export async function serve(options: ServingOptions): Promise<Serving> {
  const { core, doors, doorSettings: settings, administration } = options;
  const app = await createApp(options.appSettings);
  for (const door of doors) await app.register(door, { gateway: core, settings, administration });
  const methods = contractMethods({ gateway: core, settings });
  const plainGrpc = grpcEdge(methods, settings.bodyLimit, admitGrpc(core, settings));
  const listeners = await listenAtAll(app, options, plainGrpc);
  let closed: Promise<void> | undefined;
  return {
    listeners,
    close(graceMs) {
      closed ??= (async () => {
        const end = performance.now() + graceMs;
        const timer = setTimeout(() => core.abort(), graceMs);
        const longest = Math.min(lingerMs, graceMs);
        const gone = listeners.map((listener) => {
          listener.drain();
          return listener.close(graceMs + flushMs, longest);
        });
        await atMost(longest, Promise.all(gone));
        await core.drain();
        clearTimeout(timer);
        const restMs = Math.max(flushMs, end - performance.now());
        await Promise.all(listeners.map((listener) => listener.close(restMs)));
        await app.close();
      })();
      return closed;
    },
  };
}

/**
 * Opens the doors of administration alone, and those that tell whether the process is well. Pages of other
 * origins may not call.
 * @param options with `doors` that are there besides
 * @throws as `serve`
 */
export async function serveAdministration(
  options: Pick<ServingOptions, "core" | "doors" | "doorSettings" | "listen"> & {
    readonly administration: Administration;
  },
): Promise<Serving> {
  const { core, doorSettings: settings, administration } = options;
  const app = await createApp({ bodyLimit: adminBodyLimit, corsOrigins: false });
  for (const door of [operations, adminRpc, ...options.doors]) {
    await app.register(door, { gateway: core, settings, administration });
  }
  const listeners = await listenAtAll(app, options);
  let closed: Promise<void> | undefined;
  return {
    listeners,
    close(graceMs) {
      closed ??= (async () => {
        await Promise.all(
          listeners.map((listener) => {
            listener.drain();
            return listener.close(graceMs + flushMs);
          }),
        );
        await app.close();
      })();
      return closed;
    },
  };
}

/** @throws as `serve`; the app is closed then */
async function listenAtAll(
  app: FastifyInstance,
  { core: { log }, listen: addresses }: Pick<ServingOptions, "core" | "listen">,
  takes?: StreamHandler,
): Promise<Listener[]> {
  const listeners: Listener[] = [];
  try {
    for (const address of addresses) listeners.push(await listen(app, { log, ...address }, takes));
  } catch (error) {
    await Promise.all(listeners.map((listener) => listener.close(0)));
    await app.close();
    throw error;
  }
  return listeners;
}
