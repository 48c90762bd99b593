/** Texts of documents that were read a moment ago: a conversation has its documents in each of its requests. */
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { CallSignal } from "../core/cancellation.js";
import type { DocumentReader, DocumentText } from "../core/documents.js";

/** Characters of all texts together: twice as many bytes, at most. */
const most = 16 * 2 ** 20;

/** A reader that has to be closed. */
export interface OwnedReader extends DocumentReader {
  close(): Promise<void>;
}

/** Has another one read what it has not kept. Keeps no failure. */
export class KeptTexts implements OwnedReader {
  readonly #reader: OwnedReader;
  readonly #texts = new LRUCache<string, DocumentText>({
    maxSize: most,
    sizeCalculation: ({ text }) => Math.max(text.length, 1),
  });

  /** @param reader is closed with it */
  constructor(reader: OwnedReader) {
    this.#reader = reader;
  }

  close(): Promise<void> {
    return this.#reader.close();
  }

  async read(pdf: Uint8Array, signal: CallSignal): Promise<DocumentText> {
    const name = createHash("sha256").update(pdf).digest("base64");
    const kept = this.#texts.get(name);
    if (kept) return kept;
    const text = await this.#reader.read(pdf, signal);
    this.#texts.set(name, text);
    return text;
  }
}
