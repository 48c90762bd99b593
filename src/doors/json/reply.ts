/** Whole answers in JSON. */
import type { FastifyReply } from "fastify";
import { toLintelError } from "../../core/errors.js";
import { only, type Running } from "../../core/gateway.js";
import type { MethodName, Output } from "../../core/methods.js";
import { writeAtTurnsEnd } from "../../core/turn.js";
import { sendError } from "./error.js";
import { headersOf } from "./headers.js";
import { type JsonText, sendParts } from "./parts.js";

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
    return sendError(reply, toLintelError(thrown), running, notes);
  }
  const text = encode(message);
  await new Promise<void>(writeAtTurnsEnd);
  reply.headers(headersOf(running, notes)).type("application/json; charset=utf-8");
  if (typeof text === "string") return reply.send(text);
  if (text.every((part) => typeof part === "string")) return reply.send(text.join(""));
  await sendParts(reply, text);
  return reply;
}
