/** Reads the HTTP/1.1 requests of one connection, one after the other. */
import type { Socket } from "node:net";
import type { ReceivedRequest } from "./upstream.js";

/**
 * Yields each request once its body is there. Reading goes on while the
 * consumer works, so that a client that leaves is seen at once. A body without
 * a length is refused: nothing of ours to a model server has one. (A collector's
 * client sends them, and may still do so to a port that another test had.)
 */
export async function* readRequest(socket: Socket): AsyncGenerator<ReceivedRequest> {
  let buffered = Buffer.alloc(0);
  let wake = () => {};
  let ended = false;
  socket.on("data", (data: Buffer) => {
    buffered = Buffer.concat([buffered, data]);
    wake();
  });
  socket.once("close", () => {
    ended = true;
    wake();
  });

  while (!ended) {
    const parsed = parse(buffered);
    if (parsed === "no length") {
      socket.end("HTTP/1.1 411 Length Required\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    if (parsed) {
      buffered = buffered.subarray(parsed.length);
      yield parsed.request;
    } else {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
}

function parse(
  bytes: Buffer,
): { request: ReceivedRequest; length: number } | "no length" | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const [start = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const [method = "", path = ""] = start.split(" ");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  if (headers["transfer-encoding"]) return "no length";
  const bodyStart = headEnd + 4;
  const length = bodyStart + Number(headers["content-length"] ?? 0);
  if (bytes.length < length) return undefined;
  return { request: { method, path, headers, body: bytes.subarray(bodyStart, length) }, length };
}
