/** Bodies of requests to model servers, as bytes. */

const pageBytes = 8 * 1024;

let page = Buffer.allocUnsafeSlow(pageBytes);
let used = 0;

/**
 * A text as UTF-8, with others like it in pages of their own. In a page of Node's pool it would
 * stand among what streams were just sent, and undici keeps a body until its answer has ended: each
 * open stream would hold 8 KB for its few hundred bytes.
 */
export function bodyBytes(text: string): Buffer {
  const bytes = Buffer.byteLength(text);
  // Of half a page on, Node's pool has none either.
  if (bytes >= pageBytes / 2) return Buffer.from(text);
  if (used + bytes > pageBytes) {
    page = Buffer.allocUnsafeSlow(pageBytes);
    used = 0;
  }
  const start = used;
  used += page.write(text, start);
  return page.subarray(start, used);
}
