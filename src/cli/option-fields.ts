/** Values of options, each with what is allowed for it. */
import type * as z from "zod";
import { messageOf } from "../config/problems.js";
import { type Given, UsageError } from "./command.js";

/** An option that configurations have as a field, with what is allowed there. */
export function fieldOf<T>(given: Given, name: string, field: z.ZodType<T>): T | undefined {
  const text = given.text(name);
  if (text === undefined) return undefined;
  const value = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/.test(text) ? Number(text) : text;
  const { data, error } = field.safeParse(value, { error: messageOf, jitless: true });
  if (error) throw new UsageError(`--${name} ${error.issues[0]?.message}`);
  return data;
}

/** An option whose value is one of some words. */
export function oneOf<T extends string>(
  given: Given,
  name: string,
  allowed: readonly T[],
): T | undefined {
  const text = given.text(name);
  if (text === undefined) return undefined;
  const found = allowed.find((word) => word === text);
  if (!found) throw new UsageError(`--${name} must be one of ${allowed.join(", ")}`);
  return found;
}
