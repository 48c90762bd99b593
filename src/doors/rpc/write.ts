/** Writes an RPC's answer to the connection. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";

/**
 * Writes headers, body and trailers as the client takes them, and ends the
 * body's iteration in any case, also if the client leaves while it does not read.
 */
export async function writeResponse(
  response: UniversalServerResponse,
  raw: ServerResponse | Http2ServerResponse,
): Promise<void> {
  const body = response.body?.[Symbol.asyncIterator]();
  const left = new AbortController();
  raw.once("close", () => left.abort());
  raw.on("error", () => left.abort());
  try {
    // Headers can still be changed until the first part is there.
    let part = await body?.next();
    if (left.signal.aborted || raw.destroyed) return;
    raw.writeHead(response.status, nodeHeaders(response.header));
    for (; part && !part.done; part = await body?.next()) {
      if (left.signal.aborted) return;
      // The two kinds of response have overloads that TypeScript can't unite.
      if (!(raw as ServerResponse).write(part.value)) {
        await once(raw, "drain", { signal: left.signal }).catch(() => {});
      }
    }
    if (left.signal.aborted) return;
    if (response.trailer) raw.addTrailers(readable(nodeHeaders(response.trailer)));
    raw.end();
  } finally {
    await body?.return?.();
  }
}

function nodeHeaders(init: Headers | UniversalServerResponse["header"]): Record<string, string> {
  return Object.fromEntries(new Headers(init));
}

/**
 * The library escapes more of `grpc-message` than the protocol asks for, and
 * grpc-js shows what need not be escaped as it came.
 */
export function readable(trailers: Record<string, string>): Record<string, string> {
  const message = trailers["grpc-message"];
  if (message === undefined) return trailers;
  const plain = message.replace(/%(?!25)(?:[2-6][0-9A-F]|7[0-9A-E])/g, decodeURIComponent);
  return { ...trailers, "grpc-message": plain };
}
