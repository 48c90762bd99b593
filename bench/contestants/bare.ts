/** Proxies of a few lines on node:http or Fastify, and undici: what the runtime costs. */
import { gatewayCore, nodeOptions, pinned } from "../cores.js";
import type { Contestant } from "./contestant.js";

const main = "bench/contestants/bare-proxy.mjs";

function proxy(name: string, about: string, own = main, ...more: string[]): Contestant {
  return {
    name,
    about: `${about}, Node ${process.version}`,
    token: "any",
    headers: {},
    images: true,
    start: (port, upstream, _, { main = own, options = [] } = {}) =>
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
  main,
  "together",
);

/** For comparisons of whole answers only: no gateway does so little. */
export const bareFastify = proxy(
  "fastify",
  "Fastify and undici's dispatch, JSON read and written both ways, written at a turn's end",
  "bench/contestants/fastify-proxy.mjs",
);

/** For comparisons only: what Node's sockets cost, without HTTP. */
export const barePipe = proxy(
  "pipe",
  "node:net, bytes passed on unread",
  "bench/contestants/pipe.mjs",
);
