/** What a process that reads a document is told, and what it says. */

/** The text of a document. */
export interface DocumentText {
  /** Page by page, with an empty line between two; pages without text are left out. */
  readonly text: string;
  readonly pages: number;
  /** Pages without any text: scanned ones, or empty. */
  readonly blank: number;
}

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
