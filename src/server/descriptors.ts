/**
 * File descriptors that run out. Where none is left libuv closes each further connection as it
 * comes, and Node hears nothing of it. Those that are there could do nothing then: a call wants a
 * connection to a model server, its record a file. So the last are not for clients: how many are
 * taken is seen by a connection's own number, for the lowest free one is taken.
 */
import type { Socket } from "node:net";
import type { Logger } from "../core/log.js";
import { descriptorLimit } from "../descriptors.js";
import { seldom } from "./seldom.js";

/** Which part of the limit clients may take, with what is there besides. */
const most = 0.9;

/** How often, milliseconds. */
const tellingInterval = 60_000;

/**
 * Looks at connections that were accepted.
 * @returns whether one may stay; that none more may is told once a minute
 */
export function watchDescriptors(log: Logger): (socket: Socket) => boolean {
  const limit = descriptorLimit();
  const tell = seldom(
    () =>
      log.error({ limit }, "file descriptors are nearly used up: further connections are closed"),
    tellingInterval,
  );
  return (socket) => {
    const { fd = 0 } = (socket as { _handle?: { readonly fd?: number } | null })._handle ?? {};
    if (fd < limit * most) return true;
    tell(undefined);
    return false;
  };
}
