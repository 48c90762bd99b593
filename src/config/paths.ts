/** Makes paths of a configuration absolute, and goes through its fields by their definitions. */
import { resolve } from "node:path";
import * as z from "zod";
import type { Path } from "./problems.js";

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
  const absolute = (field: z.core.$ZodType, text: unknown) =>
    typeof text !== "string" || !isMarked(field)
      ? undefined
      : text.startsWith("hf:")
        ? text
        : resolve(directory, text);
  return mapFields(schema, value, absolute) as T;
}

/**
 * Goes through what a definition describes, from the whole to its parts.
 * @param change what to put in place of a value, whose parts are not gone through then;
 *   `undefined` leaves it
 */
export function mapFields(
  schema: z.core.$ZodType,
  value: unknown,
  change: (schema: z.core.$ZodType, value: unknown, path: Path) => unknown,
  path: Path = [],
): unknown {
  if (value === undefined || value === null) return value;
  const changed = change(schema, value, path);
  if (changed !== undefined) return changed;
  const definition = schema._zod.def as unknown as Definition;
  const { shape, element, valueType, options } = definition;
  const inner = definition.innerType ?? definition.in;
  if (inner) return mapFields(inner, value, change, path);
  if (options) {
    const option = options.find((option) => tells(option, definition.discriminator, value));
    return option ? mapFields(option, value, change, path) : value;
  }
  if (typeof value !== "object") return value;
  if (element && Array.isArray(value)) {
    return value.map((item, i) => mapFields(element, item, change, [...path, i]));
  }
  if (!shape && !valueType) return value;
  const entries = Object.entries(value).map(([key, item]) => {
    const member = shape?.[key] ?? valueType;
    return [key, member ? mapFields(member, item, change, [...path, key]) : item];
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
