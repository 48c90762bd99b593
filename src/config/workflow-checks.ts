/** Workflows of ComfyUI that are not there, are none, or don't have the inputs that their map names. */
import { resolve } from "node:path";
import { mapSchema } from "../backends/comfyui/schema.js";
import { readWorkflow } from "../backends/comfyui/workflow.js";
import { NotAFile, readRegular } from "../regular-file.js";
import type { Finding } from "./problems.js";
import { type Fields, fields } from "./raw.js";

/**
 * @param backends entries of the configuration as they stand in the file
 * @param directory relative paths count from here
 */
export function checkWorkflows(backends: readonly Fields[], directory: string): Finding[] {
  return backends.flatMap(({ type, models }, i) =>
    type === "comfyui" && Array.isArray(models)
      ? models.flatMap((model: unknown, j) => {
          const { file, map } = fields(model);
          const known = mapSchema.safeParse(map ?? {});
          if (typeof file !== "string" || file === "" || !known.success) return [];
          const problem = problemOf(resolve(directory, file), known.data);
          const message = `the workflow ${file} ${problem}`;
          return problem ? [{ path: ["backends", i, "models", j, "file"], message }] : [];
        })
      : [],
  );
}

function problemOf(file: string, map: Parameters<typeof readWorkflow>[1]): string | undefined {
  try {
    const workflow = readWorkflow(readRegular(file).toString("utf8"), map);
    return typeof workflow === "string" ? workflow : undefined;
  } catch (error) {
    if (error instanceof NotAFile) return error.message;
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" ? "does not exist" : `can't be read (${code})`;
  }
}
