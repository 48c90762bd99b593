/** How a thread of this process begins, or a process with code of its own. */
import { type ResourceLimits, Worker } from "node:worker_threads";

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
  /** Default: as much as Node lets it have. One that grows in large steps ends the whole process instead. */
  readonly limits?: ResourceLimits;
}

/** Where code is. */
export interface Code {
  readonly file: URL;
  /** What Node must be told to run it; `undefined` where it needs nothing. */
  readonly execArgv: string[] | undefined;
}

/**
 * Finds the code of a thread or process.
 * @param module as seen from `base`, without its ending: `./worker`
 * @param base `import.meta.url` of the module that starts it
 */
export const codeOf = (module: string, base: string): Code => ({
  file: new URL(`${module}${fromSources ? ".ts" : ".js"}`, base),
  execArgv: fromSources ? ["--import", loader.href] : undefined,
});

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
  const { file, execArgv } = codeOf(module, base);
  return new Worker(file, {
    workerData: data,
    name,
    ...(execArgv && { execArgv }),
    ...(limits && { resourceLimits: limits }),
  });
}
