/** Weights as they are published, for PyTorch: nothing here runs them, and they say what to do. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ModelProblem } from "./problem.js";

/** Whether a file of this name holds weights for PyTorch. */
const isTorch = (name: string) => /\.(?:safetensors|ckpt|bin|pth?)$/i.test(name);

/** The error for a file in the place of a model's folder. */
export const notFolder = (name: string): ModelProblem =>
  new ModelProblem(
    isTorch(name) ? whatRuns(name) : `${name}: is neither a folder of ONNX files nor a GGUF file`,
  );

/**
 * Looks into a folder, or into one of its parts, that is not as it has to be.
 * @param part inside of the folder; "": the folder itself
 * @throws ModelProblem if there are weights for PyTorch, and none in ONNX form
 */
export async function refuseTorch(folder: string, part: string): Promise<void> {
  const names = await readdir(join(folder, part)).catch((): string[] => []);
  const weights = names.sort().find(isTorch);
  if (weights === undefined || names.some((name) => name.endsWith(".onnx"))) return;
  throw new ModelProblem(whatRuns(part ? `${part}/${weights}` : weights));
}

const whatRuns = (file: string) =>
  `${file}: weights for PyTorch can't be run, only folders that are exported to ONNX, ` +
  "as docs/models.md tells, and GGUF files";
