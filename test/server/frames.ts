/** HTTP/2 by hand. */

/** What a client says first. */
export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** One frame. */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Nothing is set. */
export const settings = frame(4, 0, 0);

/** `:method GET`, `:scheme http`, `:path` without indexing, `:authority a` */
const headersTo = (path: string) =>
  Buffer.concat([
    Buffer.from([0x82, 0x86, 0x04, path.length]),
    Buffer.from(path),
    Buffer.from([0x01, 1, 0x61]),
  ]);

/** For `/hold`. */
export const requestHeaders = headersTo("/hold");

/** A whole request. */
export const open = (stream: number, path = "/hold"): Buffer =>
  frame(1, 0x5, stream, headersTo(path));
