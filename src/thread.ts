/** How a thread of this process begins, or a process with code of its own. */
import { type ResourceLimits, Worker } from "node:worker_threads";

/**
 * Sources run as TypeScript only in tests, which see to it that the build is of the same: Node reads
 * that by itself, in a tenth of the time.
 */
const [sources, built] = import.meta.url.endsWith(".ts")
  ? [new URL(".", import.meta.url).href, new URL("../dist/src/", import.meta.url).href]
  : ["", ""];

/** What a thread begins with. */
export interface ThreadStart {
  /** For debuggers and traces. */
  readonly name: string;
  /** Its `workerData`; plain, clonable data. */
  readonly data: unknown;
  /** Default: as much as Node lets it have. One that grows in large steps ends the whole process instead. */
  readonly limits?: ResourceLimits;
}

/**
 * Finds the code of a thread or process.
 * @param module as seen from `base`, without its ending: `./worker`
 * @param base `import.meta.url` of the module that starts it
 */
export function codeOf(module: string, base: string): URL {
  const { href } = new URL(`${module}.js`, base);
  return new URL(sources && href.startsWith(sources) ? built + href.slice(sources.length) : href);
}

/**
 * Starts a thread.
 * @param module with its code, as seen from `base`, without its ending: `./worker`
 * @param base `import.meta.url` of the module that starts it
 */
export function startThread(
  module: string,
  base: string,
  { name, data, limits }: ThreadStart,
): Worker {
  return new Worker(codeOf(module, base), {
    workerData: data,
    name,
    ...(limits && { resourceLimits: limits }),
  });
}
