/**
 * File descriptors that run out. Where none is left libuv closes each further
 * connection as it comes, and Node hears nothing of it: what there is to see is that the
 * numbers of those before come near the limit, for the lowest free one is taken.
 */
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import type { Logger } from "../core/log.js";

/** From which part of the limit on it is told. */
const nearly = 0.95;

/** How often, milliseconds. */
const tellingInterval = 60_000;

/** How many the process may have; `Infinity` where the system does not say. */
function descriptorLimit(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Looks at connections that were accepted, and tells once a minute where few more can be. */
export function watchDescriptors(log: Logger): (socket: Socket) => void {
  const limit = descriptorLimit();
  const many = limit * nearly;
  let last = Number.NEGATIVE_INFINITY;
  return (socket) => {
    const { fd = 0 } = (socket as { _handle?: { readonly fd?: number } | null })._handle ?? {};
    if (fd < many || performance.now() - last < tellingInterval) return;
    last = performance.now();
    log.error({ limit }, "file descriptors are nearly used up: further connections are closed");
  };
}
