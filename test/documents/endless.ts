/** Reads a document that has no end, and says in which process. */
import { subscribe } from "node:diagnostics_channel";
import { PdfReader } from "../../src/documents/reader.js";
import { never } from "../support/calls.js";
import { endless } from "./pdf.js";

subscribe("child_process", (message) => {
  const { process: child } = message as { readonly process: { readonly pid: number } };
  setImmediate(() => console.log(child.pid));
});
await new PdfReader({ timeout: 600_000, memory: 4096 }).read(endless(), "me", never);
