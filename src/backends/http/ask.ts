/** Requests with one whole answer. */

import type { CallSignal } from "../../core/cancellation.js";
import { parseJson } from "../../core/json.js";
import type { Answer } from "./answer.js";
import { failureOf, notJson } from "./failure.js";
import type { LargeAnswer } from "./large.js";
import { errorBodyOf } from "./refused.js";
import type { Request, Transport } from "./transport.js";

/** Most bytes of an answer that is not an image, unless said otherwise. */
const usualLimit = 16 * 1024 * 1024;

/**
 * Asks for JSON.
 * @param limit most bytes of the answer
 * @throws LintelError as `Transport.send`, as the server refuses, and
 *   `upstream_failed` if the answer is not JSON
 */
export async function askJson(
  transport: Transport,
  request: Request,
  limit = usualLimit,
): Promise<unknown> {
  const text = (await ask(transport, request, limit)).toString("utf8");
  const value = parseJson(text);
  if (value === undefined) throw notJson(text);
  return value;
}

/**
 * Asks for bytes.
 * @param limit most bytes of the answer
 * @param large where the answer finds its place
 * @throws LintelError as `Transport.send`, and as the server refuses
 */
export async function ask(
  transport: Transport,
  request: Request,
  limit = usualLimit,
  large?: LargeAnswer,
): Promise<Buffer> {
  const answer = await transport.send(request);
  try {
    return await bodyOf(answer, request.signal, limit, large);
  } finally {
    answer.abort();
  }
}

/**
 * The bytes of an answer that has begun.
 * @param signal of the request
 * @param limit most bytes of the answer
 * @param large where the answer finds its place
 * @throws LintelError as `Answer.bytes`, and as the server refuses
 */
export async function bodyOf(
  answer: Answer,
  signal: CallSignal,
  limit = usualLimit,
  large?: LargeAnswer,
): Promise<Buffer> {
  const { status, headers } = answer;
  if (status >= 200 && status < 300) {
    return large ? large.bytes(answer, limit) : answer.bytes(limit);
  }
  throw failureOf(status, await errorBodyOf(answer, signal), headers);
}

/** Whether an answer is labelled as a stream of events. */
export const isStream = ({ headers }: Pick<Answer, "headers">): boolean =>
  /event-stream/i.test(String(headers["content-type"]));

/** Whether a server that may stream its answer has sent all of it at once, as JSON. */
export const isWhole = ({ headers }: Pick<Answer, "headers">): boolean =>
  /\bjson\b/i.test(String(headers["content-type"]));
