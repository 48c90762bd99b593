/** How a thread of this process begins. */
import { Worker } from "node:worker_threads";

/**
 * Sources are TypeScript only in tests, where Node must be told how to read
 * them; the package has JavaScript.
 */
const fromSources = import.meta.url.endsWith(".ts");
const loader = new URL("../scripts/typescript-loader.js", import.meta.url);

/** What a thread begins with. */
export interface ThreadStart {
  /** For debuggers and traces. */
  readonly name: string;
  /** Its `workerData`; plain, clonable data. */
  readonly data: unknown;
}

/**
 * Starts a thread.
 * @param module with its code, as seen from `base`, without its ending: `./worker`
 * @param base `import.meta.url` of the module that starts it
 */
export function startThread(module: string, base: string, { name, data }: ThreadStart): Worker {
  return new Worker(new URL(`${module}${fromSources ? ".ts" : ".js"}`, base), {
    workerData: data,
    name,
    ...(fromSources && { execArgv: ["--import", loader.href] }),
  });
}
