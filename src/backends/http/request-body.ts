/** Bodies of requests to model servers, as bytes. */

const pageBytes = 8 * 1024;

let page = Buffer.allocUnsafeSlow(pageBytes);
let used = 0;

/**
 * A text as UTF-8, with others like it in pages of their own. In a page of Node's pool, 8 KB or 64,
 * it would stand among what streams were just sent, and undici keeps a body until its answer has
 * ended: each open stream would hold such a page for its few hundred bytes.
 */
export function bodyBytes(text: string): Buffer {
  const room = roomFor(Buffer.byteLength(text));
  room.write(text);
  return room;
}

function roomFor(bytes: number): Buffer {
  if (bytes > pageBytes / 2) return Buffer.allocUnsafeSlow(bytes);
  if (used + bytes > pageBytes) {
    page = Buffer.allocUnsafeSlow(pageBytes);
    used = 0;
  }
  used += bytes;
  return page.subarray(used - bytes, used);
}
