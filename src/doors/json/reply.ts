/** Whole answers in JSON. */
import type { FastifyReply } from "fastify";
import { toLintelError } from "../../core/errors.js";
import { only, type Running } from "../../core/gateway.js";
import type { MethodName, Output } from "../../core/methods.js";
import { sendError } from "./error.js";

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
  encode: (message: Output<M>) => string,
  notes: readonly string[] = [],
): Promise<FastifyReply> {
  let message: Output<M>;
  try {
    message = await only(running);
  } catch (thrown) {
    return sendError(reply, toLintelError(thrown), running.id);
  }
  return reply
    .headers(headersOf(running.id, [...notes, ...running.warnings]))
    .type("application/json; charset=utf-8")
    .send(encode(message));
}

/** The headers that answers of every form have. */
export function headersOf(id: string, warnings: readonly string[]): Record<string, string> {
  if (warnings.length === 0) return { "x-request-id": id };
  return { "x-request-id": id, "x-lintel-warnings": headerText(warnings.join("; ")) };
}

/** Text as a header may carry it: printable ASCII. */
function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, warningsLimit);
}
