/** The engine's packages, loaded when a model is, and only in its thread. */
import type { Tokenizer } from "@huggingface/tokenizers";
import type * as ort from "onnxruntime-node";
import { ModelProblem, wordsOf } from "./problem.js";
import { enginePackages, type Packages } from "./protocol.js";

/** What the pipeline needs of the packages. */
export interface Runtime {
  readonly InferenceSession: typeof ort.InferenceSession;
  readonly Tensor: typeof ort.Tensor;
  readonly Tokenizer: typeof Tokenizer;
}

/**
 * Of Linux, else its script fetches CUDA's provider, or fails. npm 12 refuses the option that
 * says the same, and runs no script.
 */
const withoutCuda = process.platform === "linux" ? "ONNXRUNTIME_NODE_INSTALL=skip " : "";

/** What to do when a package is not there. */
export const installHint =
  "the engine for image models is not installed; install it with: " +
  `${withoutCuda}npm install onnxruntime-node@1.30.0 @huggingface/tokenizers@0.2.0`;

/**
 * Imports the packages.
 * @throws ModelProblem that says what to install, or why a package does not run here
 */
export async function loadRuntime(
  packages: Packages = enginePackages,
  load: (name: string) => Promise<unknown> = (name) => import(name),
): Promise<Runtime> {
  const runtime = (await required(packages.runtime, load)) as typeof ort;
  const tokenizers = (await required(packages.tokenizers, load)) as {
    Tokenizer: typeof Tokenizer;
  };
  runtime.env.logLevel = "error";
  keepHalvesAsIntegers(runtime.Tensor);
  return {
    InferenceSession: runtime.InferenceSession,
    Tensor: runtime.Tensor,
    Tokenizer: tokenizers.Tokenizer,
  };
}

/**
 * Where Node has `Float16Array` (24 and later) the package makes half tensors of
 * it, which its native side then takes for empty. It looks for that type once,
 * with the first tensor: here, while the type is hidden.
 */
function keepHalvesAsIntegers(Tensor: Runtime["Tensor"]): void {
  const scope = globalThis as { Float16Array?: unknown };
  const own = Object.getOwnPropertyDescriptor(scope, "Float16Array");
  if (!own) return;
  delete scope.Float16Array;
  try {
    new Tensor("bool", [true]);
  } finally {
    Object.defineProperty(scope, "Float16Array", own);
  }
}

async function required(name: string, load: (name: string) => Promise<unknown>): Promise<unknown> {
  try {
    return await load(name);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const absent = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
    // A package that is there but can't find a file of its own is another matter.
    if (absent && String(error).includes(`'${name}'`)) {
      throw new ModelProblem(installHint, { cause: error });
    }
    const host = `${process.platform}-${process.arch}`;
    throw new ModelProblem(`${name} does not run on ${host}: ${wordsOf(error)}`, { cause: error });
  }
}
