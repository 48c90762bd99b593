/** A proxy of a few lines on node:http and undici: what the runtime costs. */
import { gatewayCore, nodeOptions, pinned } from "../cores.js";
import type { Contestant } from "./contestant.js";

function proxy(name: string, about: string, ...more: string[]): Contestant {
  return {
    name,
    about: `${about}, Node ${process.version}`,
    token: "any",
    headers: {},
    images: true,
    start: (port, upstream, _, { main = "bench/contestants/bare-proxy.mjs", options = [] } = {}) =>
      pinned(gatewayCore, "node", [
        ...options,
        ...nodeOptions(),
        main,
        String(port),
        String(upstream),
        ...more,
      ]),
  };
}

export const bare = proxy("undici", "node:http and undici's dispatch, nothing else");

/** For comparisons only: no other proxy does so. */
export const bareTogether = proxy(
  "undici-together",
  "the bare proxy, with what it writes in a turn of the event loop written at its end",
  "together",
);
