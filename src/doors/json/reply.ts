/** Whole answers in JSON. */
import type { FastifyReply } from "fastify";
import { toLintelError } from "../../core/errors.js";
import { only, type Running } from "../../core/gateway.js";
import type { MethodName, Output } from "../../core/methods.js";
import { writeAtTurnsEnd } from "../../core/turn.js";
import { sendError } from "./error.js";
import { type JsonText, sendParts } from "./parts.js";

/** Most characters of `x-lintel-warnings`: clients limit the size of headers. */
const warningsLimit = 2000;

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
  await new Promise<void>(writeAtTurnsEnd);
  reply.headers(headersOf(running, notes)).type("application/json; charset=utf-8");
  if (typeof text === "string") return reply.send(text);
  if (text.every((part) => typeof part === "string")) return reply.send(text.join(""));
  await sendParts(reply, text);
  return reply;
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

/** Text as a header may carry it: printable ASCII, with no blank at its ends, which HTTP/2 takes for no header at all. */
function headerText(text: string): string {
  return text
    .replace(/[^\x20-\x7e]/g, "?")
    .slice(0, warningsLimit)
    .trim();
}
