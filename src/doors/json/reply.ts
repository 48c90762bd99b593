/** Whole answers in JSON. */
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { toLintelError } from "../../core/errors.js";
import { only, type Running } from "../../core/gateway.js";
import type { MethodName, Output } from "../../core/methods.js";
import { sendError } from "./error.js";

/** Most characters of `x-lintel-warnings`: clients limit the size of headers. */
const warningsLimit = 2000;

/** JSON text; in parts where there are bytes in it, which are written as base64. */
export type JsonText = string | readonly (string | Uint8Array)[];

/**
 * Sends the one message of a unary call, or its error.
 * @param encode the message as JSON text
 * @param notes warnings of the door itself
 */
export async function sendWhole<M extends MethodName>(
  reply: FastifyReply,
  running: Running<M>,
  encode: (message: Output<M>) => JsonText,
  notes: readonly string[] = [],
): Promise<FastifyReply> {
  let message: Output<M>;
  try {
    message = await only(running);
  } catch (thrown) {
    return sendError(reply, toLintelError(thrown), running);
  }
  const text = encode(message);
  reply.headers(headersOf(running, notes)).type("application/json; charset=utf-8");
  if (typeof text === "string") return reply.send(text);
  if (text.every((part) => typeof part === "string")) return reply.send(text.join(""));
  return reply.header("content-length", lengthOf(text)).send(streamOf(text));
}

/** Bytes that become one piece of base64: whole groups of three, and small enough to be copied in the cache. */
const pieceBytes = 48 * 1024;

const lengthOf = (parts: readonly (string | Uint8Array)[]): number =>
  parts.reduce(
    (sum, part) =>
      sum + (typeof part === "string" ? Buffer.byteLength(part) : Math.ceil(part.length / 3) * 4),
    0,
  );

/** A text of megabytes would be in fresh memory, and once more when it is sent; pieces take turns in the same. */
function streamOf(parts: readonly (string | Uint8Array)[]): Readable {
  const pieces = piecesOf(parts);
  return new Readable({
    read() {
      this.push(pieces.next().value ?? null);
    },
  });
}

function* piecesOf(parts: readonly (string | Uint8Array)[]): Generator<Buffer, undefined> {
  for (const part of parts) {
    if (typeof part === "string") {
      yield Buffer.from(part);
      continue;
    }
    const bytes = Buffer.from(part.buffer, part.byteOffset, part.length);
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      yield Buffer.from(bytes.toString("base64", at, at + pieceBytes), "latin1");
    }
  }
}

/**
 * The headers that answers of every form have.
 * @param notes warnings of the door itself
 */
export function headersOf(
  running: Running<MethodName>,
  notes: readonly string[] = [],
): Record<string, string> {
  const headers: Record<string, string> = { "x-request-id": running.id };
  const warnings = [...notes, ...running.warnings];
  if (warnings.length > 0) headers["x-lintel-warnings"] = headerText(warnings.join("; "));
  for (const [name, value] of running.metadata) headers[name] = value;
  return headers;
}

/** Text as a header may carry it: printable ASCII. */
function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, warningsLimit);
}
