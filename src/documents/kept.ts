/** Texts of documents that were read a moment ago: a conversation has its documents in each of its requests. */
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { CallSignal } from "../core/cancellation.js";
import type { DocumentReader, DocumentText } from "../core/documents.js";
import { LintelError } from "../core/errors.js";

/** Characters of all texts together: twice as many bytes, at most. None is empty. */
const most = 16 * 2 ** 20;

/** A reader that has to be closed. */
export interface OwnedReader extends DocumentReader {
  close(): Promise<void>;
}

/** How long it is known that a document can't be read, milliseconds: each target, and each try of a client, would have it read again. */
const failedMs = 60_000;

/** Has another one read what it has not kept. */
export class KeptTexts implements OwnedReader {
  readonly #reader: OwnedReader;
  readonly #texts = new LRUCache<string, DocumentText>({
    maxSize: most,
    sizeCalculation: ({ text, about = "" }) => text.length + about.length,
  });

  readonly #failures = new LRUCache<string, LintelError>({ max: 1000, ttl: failedMs });

  /** @param reader is closed with it */
  constructor(reader: OwnedReader) {
    this.#reader = reader;
  }

  close(): Promise<void> {
    return this.#reader.close();
  }

  async read(pdf: Uint8Array, caller: string, signal: CallSignal): Promise<DocumentText> {
    const name = createHash("sha256").update(pdf).digest("base64");
    const kept = this.#texts.get(name);
    if (kept) return kept;
    const failure = this.#failures.get(name);
    if (failure) throw failure;
    try {
      const text = await this.#reader.read(pdf, caller, signal);
      this.#texts.set(name, text);
      return text;
    } catch (thrown) {
      // Any other is not the document's.
      if (isRefusal(thrown)) this.#failures.set(name, thrown);
      throw thrown;
    }
  }
}

const isRefusal = (thrown: unknown): thrown is LintelError =>
  thrown instanceof LintelError && thrown.code === "invalid_value";
