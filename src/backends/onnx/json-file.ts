/** JSON files of a model's folder. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { z } from "zod";
import { ModelProblem } from "./problem.js";

/**
 * Reads a JSON file.
 * @param file inside of the folder; errors name it
 * @throws ModelProblem if it is missing or not as the schema says
 */
export async function readJson<S extends z.ZodType>(
  folder: string,
  file: string,
  schema: S,
): Promise<z.output<S>> {
  let json: unknown;
  try {
    json = JSON.parse(quoteInfinity(await readFile(join(folder, file), "utf8")));
  } catch (error) {
    throw new ModelProblem(`${file}: ${whyUnreadable(error)}`, { cause: error });
  }
  const { success, data, error } = schema.safeParse(json);
  if (success) return data;
  const issues = error.issues.map(({ path, message }) => [...path, message].join(": "));
  throw new ModelProblem(`${file}: ${issues.join("; ")}`);
}

/** Python writes numbers that JSON does not have. */
const quoteInfinity = (json: string) =>
  json.replace(/(:\s*)(-?Infinity|NaN)(?=\s*[,}])/g, '$1"$2"');

/** Why a file can't be read, without its full path. */
export function whyUnreadable(error: unknown): string {
  if (error instanceof SyntaxError) return "is not valid JSON";
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") return "is missing";
  return `can't be read (${code ?? "unknown reason"})`;
}
