/** The configuration's JSON Schema, for editors. */
import * as z from "zod";
import { configSchema } from "./schema.js";

/** JSON Schema (draft 2020-12) of a configuration file, before the environment is put in. */
export function configJsonSchema(): object {
  return {
    title: "Lintel configuration",
    ...z.toJSONSchema(configSchema, { io: "input", override: unpackReferences }),
  };
}

/** An editor sees `${NAME}` as it stands: as text, wherever some other value is meant. */
function unpackReferences({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  if (!isNarrow(jsonSchema)) return;
  const { description, default: fallback, ...rest } = jsonSchema;
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
  Object.assign(jsonSchema, {
    ...(description !== undefined && { description }),
    ...(fallback !== undefined && { default: fallback }),
    anyOf: [rest, { type: "string", pattern: "\\$\\{" }],
  });
}

/** Whether this is a scalar that not every text is. */
function isNarrow({ type, format, pattern, enum: words }: Record<string, unknown>): boolean {
  if (type === "number" || type === "integer" || type === "boolean") return true;
  return type === "string" && Boolean((format && format !== "path") || pattern || words);
}
