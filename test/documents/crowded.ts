/** Reads a document while all file descriptors are in use, and again with some to spare; says how that went. */
import { closeSync, openSync } from "node:fs";
import { PdfReader } from "../../src/documents/reader.js";
import { never } from "../support/calls.js";
import { lines, pdf } from "./pdf.js";

const reader = new PdfReader({ timeout: 600_000 });
const told = () =>
  reader.read(pdf([lines("Hello")]), "me", never).then(
    ({ text }) => text,
    ({ code, cause }) => `${code}: ${cause}`,
  );
const opened: number[] = [];
try {
  for (;;) opened.push(openSync("/dev/null", "r"));
} catch {
  // There are no more.
}
console.log(await told());
for (const descriptor of opened) closeSync(descriptor);
console.log(await told());
