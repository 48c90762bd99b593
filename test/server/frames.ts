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

/** `:method CONNECT`, `:authority a` */
const connectTo = Buffer.concat([
  Buffer.from([0x02, 7]),
  Buffer.from("CONNECT"),
  Buffer.from([0x01, 1, 0x61]),
]);

/** A request that asks for a proxy. */
export const openConnect = (stream: number): Buffer => frame(1, 0x5, stream, connectTo);

/** A whole request that waits for leave to send its body. */
export const openExpecting = (stream: number): Buffer => {
  const expect = [0x00, 6, ...Buffer.from("expect"), 12, ...Buffer.from("100-continue")];
  return frame(1, 0x5, stream, Buffer.concat([requestHeaders, Buffer.from(expect)]));
};

/** `x` with 10,000 letters, as a header of its own: 127 and 9873 more. */
const large = Buffer.concat([
  Buffer.from([0x00, 1, 0x78, 0x7f, 0x91, 0x4d]),
  Buffer.alloc(10_000, 0x61),
]);

/** A request with 20,000 bytes of headers. @param flags 1: it is whole */
export const openLarge = (stream: number, flags = 0x1): Buffer =>
  Buffer.concat([
    frame(1, flags, stream, requestHeaders),
    frame(9, 0, stream, large),
    frame(9, 0x4, stream, large),
  ]);
