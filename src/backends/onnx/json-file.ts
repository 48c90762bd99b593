/** JSON files of a model's folder. */
import { join } from "node:path";
import type * as z from "zod";
import { readRegular } from "../../regular-file.js";
import { ModelProblem, whyUnreadable } from "./problem.js";

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
  const path = join(folder, file);
  let json: unknown;
  try {
    json = JSON.parse(quoteInfinity(readRegular(path).toString()));
  } catch (error) {
    throw new ModelProblem(`${file}: ${whyUnreadable(error)}`, { cause: error });
  }
  return checked(file, schema, json);
}

/**
 * What a file says, by its schema.
 * @throws ModelProblem that names the file and every field at fault
 */
export function checked<S extends z.ZodType>(file: string, schema: S, json: unknown): z.output<S> {
  const { success, data, error } = schema.safeParse(json);
  if (success) return data;
  const issues = error.issues.map(({ path, message }) => [...path, message].join(": "));
  throw new ModelProblem(`${file}: ${issues.join("; ")}`);
}

/** Python writes numbers that JSON does not have. */
const quoteInfinity = (json: string) =>
  json.replace(/(:\s*)(-?Infinity|NaN)(?=\s*[,}])/g, '$1"$2"');
