/** The configuration's JSON Schema, for editors. */
import { z } from "zod";
import { configSchema } from "./schema.js";

/** JSON Schema (draft 2020-12) of a configuration file, before the environment is put in. */
export function configJsonSchema(): object {
  return {
    title: "Lintel configuration",
    ...z.toJSONSchema(configSchema, { io: "input", override: unpackReferences }),
  };
}

/** A number or a switch may also be written as `${NAME}`, which an editor sees as text. */
function unpackReferences({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  const { type } = jsonSchema;
  if (type !== "number" && type !== "integer" && type !== "boolean") return;
  const { description, default: fallback, ...rest } = jsonSchema;
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
  Object.assign(jsonSchema, {
    ...(description !== undefined && { description }),
    ...(fallback !== undefined && { default: fallback }),
    anyOf: [rest, { type: "string", pattern: "\\$\\{" }],
  });
}
