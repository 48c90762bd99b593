/** What a process that reads a document is told, and what it says. */
import type { DocumentText } from "../core/documents.js";

/** What to read. */
export interface Order {
  readonly pdf: Uint8Array;
  /** Most MiB that reading may take, besides the file. */
  readonly memory: number;
  /** Most characters of text. */
  readonly length: number;
}

/** How it went. */
export type Report =
  | ({ readonly type: "read" } & DocumentText)
  /** The document is at fault; why, for the caller. */
  | { readonly type: "refused"; readonly problem: string }
  /** It takes more memory than it may. */
  | { readonly type: "memory" }
  /** Lintel is at fault; for the log. */
  | { readonly type: "failed"; readonly fault: string };
