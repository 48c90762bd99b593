/** In which form a completion comes, told by how it begins: some servers and proxies label it as the other. */
import { isWhole } from "../http/ask.js";
import type { Headers } from "../http/retry-after.js";

/** How an answer begins. */
export interface Beginning {
  readonly bytes: Buffer;
  /** Whether all that comes of it is JSON, not a stream of events. */
  readonly whole: boolean;
}

const json = /^\uFEFF?\s*[[{]/;
const events = /^\uFEFF?\s*(?:data|event|id|retry)?:/;
/** Letters by which events are told: those of `retry:`. */
const enough = 6;
/** Bytes of white space before it, at most. */
const mostBytes = 64 * 1024;

/** Whether a text begins as a stream of events does. */
export const beginsAsEvents = (text: string): boolean => events.test(text);

/**
 * Reads so much of an answer as tells its form.
 * @param read the next bytes; `undefined` at the end
 */
export async function beginningOf(
  headers: Headers,
  read: () => Promise<Uint8Array | undefined>,
): Promise<Beginning> {
  const parts: Uint8Array[] = [];
  for (;;) {
    const part = await read();
    if (part) parts.push(part);
    const bytes = Buffer.concat(parts);
    const text = bytes.toString("utf8");
    if (json.test(text)) return { bytes, whole: true };
    if (events.test(text)) return { bytes, whole: false };
    if (!part || text.trim().length >= enough || bytes.length > mostBytes)
      return { bytes, whole: isWhole({ headers }) };
  }
}
