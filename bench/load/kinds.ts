/** Load by its kind, for those who measure a contestant by itself. */

import { setTimeout as sleep } from "node:timers/promises";
import { compile } from "../compile.js";
import { type Contestant, chatBody, headersOf, pathOf } from "../contestants/contestant.js";
import { cpuMicros, mainThreadMicros, otherCore, readsAndWrites } from "../cores.js";
import { imageRequest } from "../scenarios/whole.js";
import { type DoorKind, doorRequest } from "./doors.js";
import { h2load } from "./h2load.js";
import { opening, streams } from "./streams.js";
import { wrk } from "./wrk.js";

/**
 * Whole answers, streams, streams whose events are written one by one, images of 2 MB, both over
 * gRPC, streams with an event each 20 ms, and chats by the other doors.
 */
export type Kind = "json" | "sse" | "apart" | "image" | "unary" | "stream" | "paced" | DoorKind;

/** What a process spent on an answer. */
export interface Spent {
  /** CPU µs. */
  readonly each: number;
  /** Those of its first thread. */
  readonly firstThread: number;
  /** System calls. */
  readonly reads: number;
  readonly writes: number;
}

/** What some seconds of load brought. */
export interface Loaded {
  /** Of paced streams their events. */
  readonly answers: number;
  readonly perSecond: number;
  readonly failures: number;
  /** More of it, for people. */
  readonly said?: string;
}

/**
 * Load of one kind on a contestant that runs.
 * @param connections not counted for gRPC, which has its own
 */
export function loadOf(
  kind: Kind,
  contestant: Contestant,
  port: number,
  folder: string,
  connections: number,
): (seconds: number) => Promise<Loaded> {
  if (kind === "unary" || kind === "stream") {
    const method = kind === "unary" ? "Complete" : "Chat";
    return async (seconds) => {
      const { token } = contestant;
      const { calls, ...rest } = await h2load({ folder, port, method, seconds, token });
      return { answers: calls, ...rest };
    };
  }
  if (kind === "paced") {
    const program = compile("bench/load/streams.c", folder);
    return async (seconds) => {
      const told = await streams(program, contestant, port, connections, seconds);
      const [first, delay] = [told.first50, told.delay50].map((micros) =>
        (micros / 1000).toFixed(1),
      );
      const said = `first after ${first} ms, delay ${delay} ms (medians)`;
      return { answers: told.events, perSecond: told.events / seconds, failures: 0, said };
    };
  }
  const { path, body } =
    kind === "image"
      ? imageRequest
      : (doorRequest(kind) ?? {
          path: pathOf(contestant),
          body: chatBody(kind === "apart" ? kind : "bench", kind !== "json"),
        });
  return async (seconds) => {
    const { requests, ...rest } = await wrk({
      folder,
      core: otherCore,
      url: `http://127.0.0.1:${port}${path}`,
      connections,
      seconds,
      headers: headersOf(contestant),
      body,
    });
    return { answers: requests, ...rest };
  };
}

/** What makes a contestant warm for load of one kind: streams that are not paced have more calls a second. */
export const warmingOf = (kind: Kind): Kind => (kind === "paced" ? "sse" : kind);

/**
 * CPU µs of an answer under load, without what is spent while streams are opened; how much
 * of it the process' first thread had; and how often it read and wrote for one.
 * @param load of this kind, as `loadOf` made it
 */
export async function cpuOf(
  pid: number,
  kind: Kind,
  load: (seconds: number) => Promise<Loaded>,
  seconds: number,
): Promise<Loaded & Spent> {
  const running = load(seconds);
  if (kind === "paced") await sleep(opening * 1000);
  const before = cpuMicros(pid);
  const firstBefore = mainThreadMicros(pid);
  const ioBefore = readsAndWrites(pid);
  const loaded = await running;
  const io = readsAndWrites(pid);
  return {
    ...loaded,
    each: (cpuMicros(pid) - before) / loaded.answers,
    firstThread: (mainThreadMicros(pid) - firstBefore) / loaded.answers,
    reads: (io.reads - ioBefore.reads) / loaded.answers,
    writes: (io.writes - ioBefore.writes) / loaded.answers,
  };
}
