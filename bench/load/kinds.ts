/** Load by its kind, for those who measure a contestant by itself. */
import { type Contestant, chatBody, headersOf, pathOf } from "../contestants/contestant.js";
import { otherCore } from "../cores.js";
import { imageRequest } from "../scenarios/whole.js";
import { h2load } from "./h2load.js";
import { wrk } from "./wrk.js";

/** Whole answers, streams, images of 2 MB, and both over gRPC. */
export type Kind = "json" | "sse" | "image" | "unary" | "stream";

/** What some seconds of load brought. */
export interface Loaded {
  readonly answers: number;
  readonly perSecond: number;
  readonly failures: number;
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
  const { path, body } =
    kind === "image"
      ? imageRequest
      : { path: pathOf(contestant), body: chatBody("bench", kind === "sse") };
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
