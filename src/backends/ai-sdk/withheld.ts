/**
 * Failures of jobs that draw, in answers of status 200: of some their providers know nothing, and ask on until
 * their patience is over, of others they say only that there was one.
 */
import { ReadableStream } from "node:stream/web";
import { Response } from "undici";
import type { LintelError } from "../../core/errors.js";
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { Collected } from "../../core/pieces.js";
import { failureIn } from "../http/failure.js";
import { withheldIn } from "../http/withheld.js";

/** More bytes than this are an image, and no failure. */
const most = 64 * 1024;

/**
 * An answer as it is.
 * @throws LintelError as the vendor tells of it
 */
export async function unlessWithheld(response: Response): Promise<Response> {
  const { body, status, statusText, headers } = response;
  const json = /\bjson\b/i.test(headers.get("content-type") ?? "");
  if (!body || !json || Number(headers.get("content-length") ?? 0) > most) return response;
  const reader = body.getReader();
  const came = new Collected();
  let part = await reader.read();
  for (; !part.done; part = await reader.read()) {
    came.add(part.value);
    if (came.length > most) break;
  }
  const begun = came.take();
  if (part.done) {
    const value = parseJson(begun.toString("utf8"));
    const failure = isObject(value) && failureOfJob(value);
    if (failure) throw failure;
    return new Response(begun, { status, statusText, headers });
  }
  const rest = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(begun),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(rest, { status, statusText, headers });
}

/** Replicate's jobs have the words of what went wrong in `error`. */
const failureOfJob = (job: JsonObject): LintelError | undefined =>
  withheldIn(job) ?? (job.status === "failed" ? failureIn(job) : undefined);
