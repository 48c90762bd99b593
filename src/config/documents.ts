/** PDFs that are read to models which take no files. */
import * as z from "zod";
import type { ReaderLimits } from "../documents/reader.js";
import { size, wait } from "./quantities.js";

const mebibyte = 2 ** 20;
/** The package alone takes some 20. */
const leastMemory = 64 * mebibyte;

/** The section `documents` of the configuration. */
export const documentsSchema = z.strictObject({
  read: z
    .boolean()
    .default(true)
    .describe(
      "Whether models that take no files are told the text of PDFs. Else they are refused.",
    ),
  at_once: z
    .int()
    .min(1)
    .max(64)
    .default(2)
    .describe(
      "How many are read at once, of each worker, each in a process of its own; the others wait.",
    ),
  memory: size
    .refine((bytes) => bytes >= leastMemory, { error: "must be at least 64MiB" })
    .prefault("512MiB")
    .describe("Most memory that reading one may take. At least 64MiB."),
  timeout: wait.prefault("20s").describe("Longest time that reading one may take."),
});

/** The reader's part; `undefined` where nobody reads. */
export const readerLimits = (
  documents: z.output<typeof documentsSchema>,
): ReaderLimits | undefined =>
  documents.read
    ? {
        atOnce: documents.at_once,
        memory: Math.floor(documents.memory / mebibyte),
        timeout: documents.timeout,
      }
    : undefined;
