/** The binary frames of AWS's event streams. */
import { crc32 } from "node:zlib";

/** One event. */
export const frame = (type: string, payload: object): Buffer =>
  framed(
    { ":event-type": type, ":content-type": "application/json", ":message-type": "event" },
    payload,
  );

/** An exception, which ends a stream. */
export const exception = (type: string, payload: object): Buffer =>
  framed(
    { ":exception-type": type, ":content-type": "application/json", ":message-type": "exception" },
    payload,
  );

function framed(headers: Readonly<Record<string, string>>, payload: object): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(Buffer.byteLength(value));
      // 7: a text.
      return Buffer.concat([
        Buffer.from([Buffer.byteLength(name)]),
        Buffer.from(name),
        Buffer.from([7]),
        length,
        Buffer.from(value),
      ]);
    }),
  );
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(head.length + body.length + 16, 0);
  prelude.writeUInt32BE(head.length, 4);
  const message = Buffer.concat([prelude, checksum(prelude), head, body]);
  return Buffer.concat([message, checksum(message)]);
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}
