/** In which form a completion comes, told by how it begins: some servers and proxies label it as the other. */
import { Collected } from "../../core/pieces.js";
import { isWhole } from "../http/ask.js";
import type { Headers } from "../http/retry-after.js";

/** How an answer begins. */
export interface Beginning {
  readonly bytes: Buffer;
  /** Whether all that comes of it is JSON, not a stream of events. */
  readonly whole: boolean;
}

const json = /^[[{]/;
const events = /^(?:data|event|id|retry)?:/;
/** Letters by which events are told: those of `retry:`. */
const enough = 6;
/** Bytes of white space before it, at most. */
const mostBytes = 64 * 1024;

/** Whether a text begins as a stream of events does. */
export const beginsAsEvents = (text: string): boolean => events.test(text.trimStart());

/**
 * Reads so much of an answer as tells its form.
 * @param read the next bytes; `undefined` at the end
 */
export async function beginningOf(
  headers: Headers,
  read: () => Promise<Uint8Array | undefined>,
): Promise<Beginning> {
  const came = new Collected();
  const decoder = new TextDecoder();
  /** From the first letter on: all white space, which may come blank by blank, is looked at once. */
  let text = "";
  for (;;) {
    const part = await read();
    if (part) {
      came.add(part);
      text = (text + decoder.decode(part, { stream: true })).trimStart();
    }
    if (json.test(text)) return { bytes: came.take(), whole: true };
    if (events.test(text)) return { bytes: came.take(), whole: false };
    if (!part || text.length >= enough || came.length > mostBytes)
      return { bytes: came.take(), whole: isWhole({ headers }) };
  }
}
