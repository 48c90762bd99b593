/** Makes paths of a configuration absolute. */
import { resolve } from "node:path";
import { z } from "zod";

/** What is read of a schema's inside. */
interface Definition {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly element?: z.core.$ZodType;
  readonly innerType?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
  readonly discriminator?: string;
}

/**
 * Resolves every field that its definition marks with `.meta({ format: "path" })`. Names of
 * models, `hf:user/repository`, stay.
 * @param directory relative paths count from here
 */
export function resolvePaths<T>(schema: z.core.$ZodType, value: T, directory: string): T {
  return walk(schema, value, directory) as T;
}

function walk(schema: z.core.$ZodType, value: unknown, directory: string): unknown {
  if (value === undefined || value === null) return value;
  const definition = schema._zod.def as unknown as Definition;
  const { shape, element, valueType, options } = definition;
  if (typeof value === "string" && isMarked(schema)) {
    return value.startsWith("hf:") ? value : resolve(directory, value);
  }
  const inner = definition.innerType ?? definition.in;
  if (inner) return walk(inner, value, directory);
  if (options) {
    const option = options.find((option) => tells(option, definition.discriminator, value));
    return option ? walk(option, value, directory) : value;
  }
  if (typeof value !== "object") return value;
  if (element && Array.isArray(value)) {
    return value.map((item) => walk(element, item, directory));
  }
  if (!shape && !valueType) return value;
  const entries = Object.entries(value).map(([key, item]) => {
    const member = shape?.[key] ?? valueType;
    return [key, member ? walk(member, item, directory) : item];
  });
  return Object.fromEntries(entries);
}

function isMarked(schema: z.core.$ZodType): boolean {
  return z.globalRegistry.get(schema)?.format === "path";
}

/** Whether a value is of this member of a union; only discriminated unions hold paths. */
function tells(option: z.core.$ZodType, key: string | undefined, value: unknown): boolean {
  if (key === undefined) return false;
  const tag = (value as Record<string, z.core.util.Primitive>)[key];
  return option._zod.propValues?.[key]?.has(tag) ?? false;
}
