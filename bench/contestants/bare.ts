/** A proxy of a few lines on node:http and undici: what the runtime costs. */
import { gatewayCore, nodeOptions, pinned } from "../cores.js";
import type { Contestant } from "./contestant.js";

export const bare: Contestant = {
  name: "undici",
  about: `node:http and undici's dispatch, nothing else, Node ${process.version}`,
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
    ]),
};
