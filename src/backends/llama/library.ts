/** node-llama-cpp, which is optional, and its one instance of llama.cpp per process. */
import { availableParallelism } from "node:os";
import type { Llama, LlamaLogLevel } from "node-llama-cpp";
import { LintelError } from "../../core/errors.js";
import type { Logger } from "../../core/log.js";
import type { Gpu } from "../gpu.js";
import type { Jinja } from "./bounded.js";

/** The module as it is imported. */
export type LlamaLibrary = typeof import("node-llama-cpp") & { readonly jinja: Jinja };

/** What to say where the engine is not installed. */
const notInstalled = (cause: unknown) =>
  new LintelError(
    "model_not_loaded",
    "the engine for chat models is not installed; install it with: npm install node-llama-cpp@3.21.1 @huggingface/jinja@0.5.11",
    { cause },
  );

/**
 * Imports the engine.
 * @throws LintelError `model_not_loaded` that says what to install
 */
export async function importLlama(): Promise<LlamaLibrary> {
  try {
    const [llama, jinja] = await Promise.all([
      import("node-llama-cpp"),
      import("@huggingface/jinja"),
    ]);
    return { ...llama, jinja };
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") {
      throw notInstalled(thrown);
    }
    throw new LintelError("model_not_loaded", "the engine for chat models does not start", {
      cause: thrown,
    });
  }
}

/** llama.cpp, started. */
export interface Runtime {
  readonly llama: Llama;
  /** Loads one after the other, so that the errors that llama.cpp logs are those of the one load. */
  loading<T>(load: (said: readonly string[]) => Promise<T>): Promise<T>;
}

const runtimes = new Map<Gpu, Promise<Runtime>>();

/**
 * The instance for a kind of GPU; started once.
 * @throws LintelError `model_not_loaded` if there is no build for this machine
 */
export function runtime(library: LlamaLibrary, gpu: Gpu, log: Logger): Promise<Runtime> {
  const known = runtimes.get(gpu);
  if (known) return known;
  const starting = start(library, gpu, log);
  runtimes.set(gpu, starting);
  starting.catch(() => runtimes.delete(gpu));
  return starting;
}

async function start(library: LlamaLibrary, gpu: Gpu, log: Logger): Promise<Runtime> {
  let said: string[] = [];
  let turn: Promise<unknown> = Promise.resolve();
  const logger = (level: LlamaLogLevel, message: string) => {
    const text = message.trim();
    if (level === "error" || level === "fatal") said.push(text);
    log.debug({ engine: "llama.cpp", level }, text);
  };
  try {
    const llama = await library.getLlama({
      gpu,
      build: "never",
      skipDownload: true,
      progressLogs: false,
      logLevel: library.LlamaLogLevel.warn,
      logger,
      maxThreads: gpu === false ? availableParallelism() : 0,
    });
    return {
      llama,
      loading(load) {
        const result = turn.then(() => {
          said = [];
          return load(said);
        });
        turn = result.catch(() => {});
        return result;
      },
    };
  } catch (cause) {
    const where = gpu === false ? "" : ` with gpu: ${gpu}`;
    throw new LintelError(
      "model_not_loaded",
      `node-llama-cpp has no build that runs on this machine${where}`,
      { cause },
    );
  }
}
