/** When a server wants to be asked again. */

import { isObject, type JsonObject } from "../../core/json.js";
import { errorBodies, messageIn } from "./error-body.js";
import { secondsInWords, secondsToReset } from "./limit-reset.js";

/** Headers of an answer, names in lower case. */
export type Headers = Readonly<Record<string, Header>>;
type Header = string | string[] | undefined;

/**
 * Seconds after which a server that refused wants to be asked again, at least 1: by
 * `Retry-After`, else by what some say in its place.
 * @param status of its answer
 * @param body as it was parsed
 * @param now milliseconds since the epoch
 */
export function retryAfterIn(
  status: number,
  headers: Headers,
  body: unknown,
  now: number,
): number | undefined {
  return (
    retryAfterOf(headers["retry-after"], now) ??
    retryAfterOfMs(headers["retry-after-ms"]) ??
    retryAfterInBody(body, now) ??
    (status === 429 ? whole(secondsToReset(headers, now)) : undefined)
  );
}

/**
 * Seconds that `Retry-After` asks for, at least 1.
 * @param now milliseconds since the epoch, for the form with a date
 */
export function retryAfterOf(header: Header, now: number): number | undefined {
  const text = textOf(header);
  if (text === "") return undefined;
  return whole(decimal.test(text) ? Number(text) : (Date.parse(text) - now) / 1000);
}

/**
 * Seconds that the body of an error asks for, at least 1.
 * @param now milliseconds since the epoch
 */
export function retryAfterInBody(body: unknown, now: number): number | undefined {
  for (const { error, estimated_time } of errorBodies(body)) {
    const seconds = isObject(error)
      ? (retryDelayIn(error.details) ?? resetIn(error, now))
      : undefined;
    // Hugging Face's, while it loads a model.
    const said =
      seconds ?? (typeof estimated_time === "number" ? whole(estimated_time) : undefined);
    if (said !== undefined) return said;
  }
  return whole(secondsInWords(messageIn(body)));
}

const decimal = /^\d+(?:\.\d+)?$/;

const textOf = (header: Header): string =>
  (Array.isArray(header) ? header[0] : header)?.trim() ?? "";

const whole = (seconds = Number.NaN): number | undefined =>
  Number.isFinite(seconds) ? Math.max(1, Math.ceil(seconds)) : undefined;

/** OpenAI's and Azure's header. */
function retryAfterOfMs(header: Header): number | undefined {
  const text = textOf(header);
  return decimal.test(text) ? whole(Number(text) / 1000) : undefined;
}

/** Google's `RetryInfo`: `"34.07s"`. */
function retryDelayIn(details: unknown): number | undefined {
  if (!Array.isArray(details)) return undefined;
  for (const detail of details) {
    const delay = isObject(detail) ? detail.retryDelay : undefined;
    const seconds = typeof delay === "string" && delay.endsWith("s") ? delay.slice(0, -1) : "";
    if (decimal.test(seconds)) return whole(Number(seconds));
  }
  return undefined;
}

/** OpenRouter's, of its own limits: it repeats its headers there, with a time in milliseconds since the epoch. */
function resetIn({ metadata }: JsonObject, now: number): number | undefined {
  const headers = isObject(metadata) ? metadata.headers : undefined;
  if (!isObject(headers) || Number(headers["X-RateLimit-Remaining"]) !== 0) return undefined;
  const reset = Number(headers["X-RateLimit-Reset"]);
  return reset > 1e12 ? whole((reset - now) / 1000) : undefined;
}
