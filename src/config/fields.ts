/** Kinds of fields that several parts of the configuration have. */
import { z } from "zod";

/** A file or folder; relative paths count from the configuration file's folder. */
export const path = () => z.string().min(1).meta({ format: "path" });

/** Address of an HTTP server, without a slash at the end. */
export const httpUrl = z
  .url({ protocol: /^https?$/, error: "must be an http:// or https:// address" })
  .refine((text) => !/[?#]/.test(text), { error: "must have no query and no fragment" })
  .transform((text) => text.replace(/\/+$/, ""));

/** The name of a model, or a pattern of such names. */
export const modelPattern = () =>
  z
    .string()
    .min(1)
    .regex(/^[^*]*\*?[^*]*$/, { error: "must have at most one *" });
