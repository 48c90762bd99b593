/** Bodies of requests about conversations. */
import { jsonText } from "../../core/long-numbers.js";

/** As `jsonText` does it, for a request: a text, or a long one's bytes. */
export const jsonBody = (fields: object): string | Uint8Array =>
  isLong(fields) ? jsonBytes(fields) : jsonText(fields);

/** From about as many letters on it pays to write messages one by one. */
const longLetters = 32 * 1024;
/** Those of a tool, or of a message in parts, more or less. */
const usualLetters = 1024;

function isLong({ messages, tools }: { messages?: unknown; tools?: unknown }): boolean {
  let letters = Array.isArray(tools) ? tools.length * usualLetters : 0;
  if (!Array.isArray(messages)) return false;
  for (const { content } of messages) {
    letters += typeof content === "string" ? content.length : usualLetters;
  }
  return letters > longLetters;
}

/**
 * An object as JSON in UTF-8, each item of its lists by itself: a long conversation as one text would be put
 * together three times, each time in memory that is fresh, and be looked through for its length.
 */
function jsonBytes(object: object): Buffer {
  used = 0;
  let ahead = "{";
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    ahead += `${JSON.stringify(key)}:`;
    if (!Array.isArray(value) || value.length === 0) {
      ahead += `${jsonText(value)},`;
      continue;
    }
    ahead += "[";
    for (const item of value) {
      write(ahead);
      write(jsonText(item ?? null));
      ahead = ",";
    }
    ahead = "],";
  }
  write(ahead.endsWith(",") ? `${ahead.slice(0, -1)}}` : `${ahead}}`);
  return taken();
}

/** What is written before it is known how much that is, one object at a time, and how much there is of it. */
let room = Buffer.alloc(0);
let used = 0;

/** Most bytes of such room that are kept. */
const mostKept = 1024 * 1024;
/** Texts of more letters than this are looked through for how many bytes they have. */
const fewLetters = 64 * 1024;
/** Most bytes that UTF-8 has for a letter of JavaScript's. */
const letterBytes = 3;

function write(text: string): void {
  const { length } = text;
  const needed = used + (length > fewLetters ? Buffer.byteLength(text) : length * letterBytes);
  if (needed > room.length) {
    const more = Buffer.allocUnsafeSlow(Math.max(needed, 2 * room.length));
    room.copy(more, 0, 0, used);
    room = more;
  }
  used += room.write(text, used);
}

function taken(): Buffer {
  // None of Node's pool: a body is kept until its answer has ended.
  const bytes = Buffer.allocUnsafeSlow(used);
  room.copy(bytes, 0, 0, used);
  if (room.length > mostKept) room = Buffer.alloc(0);
  return bytes;
}
