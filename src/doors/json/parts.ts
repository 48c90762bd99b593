/** JSON with images in it, sent piece by piece. */
import type { OutgoingHttpHeaders } from "node:http";
import type { FastifyReply } from "fastify";

type Parts = readonly (string | Uint8Array)[];

/** JSON text; in parts where there are bytes in it, which are written as base64. */
export type JsonText = string | Parts;

/** Bytes that become one piece of base64: whole groups of three. */
const pieceBytes = 48 * 1024;

/**
 * Sends JSON in parts. All pieces take turns in one buffer: a text of megabytes, and what
 * it is copied to when it is sent, would be in memory that is fresh each time. Resolves
 * when all is on its way, or the caller left; never rejects.
 */
export async function sendParts(reply: FastifyReply, parts: Parts): Promise<void> {
  const { raw } = reply;
  // Fastify only knows whole bodies and streams, which need a buffer for each piece.
  reply.hijack();
  raw.on("error", () => {});
  const headers = { ...reply.getHeaders(), "content-length": lengthOf(parts) };
  raw.writeHead(200, headers as OutgoingHttpHeaders);
  const room = Buffer.allocUnsafe((pieceBytes / 3) * 4);
  // A piece that a caller did not wait for is never told to be written.
  let left = false;
  let goOn = () => {};
  raw.once("close", () => {
    left = true;
    goOn();
  });
  const write = (piece: Uint8Array) =>
    new Promise<void>((resolve) => {
      goOn = resolve;
      raw.write(piece, () => resolve());
    });
  for (const part of parts) {
    if (left) return;
    if (typeof part === "string") {
      await write(Buffer.from(part));
      continue;
    }
    const bytes = Buffer.from(part.buffer, part.byteOffset, part.length);
    for (let at = 0; at < bytes.length && !left; at += pieceBytes) {
      const length = room.write(bytes.toString("base64", at, at + pieceBytes), "latin1");
      await write(room.subarray(0, length));
    }
  }
  if (!left) raw.end();
}

const lengthOf = (parts: Parts): number =>
  parts.reduce(
    (sum, part) =>
      sum + (typeof part === "string" ? Buffer.byteLength(part) : Math.ceil(part.length / 3) * 4),
    0,
  );
