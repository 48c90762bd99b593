/** Why an answer failed, in OpenAI's words: by them Codex knows what to do about it. */
import { isOverflow, type LintelError, overflow } from "../../../core/errors.js";

/** What a response says of it. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** The longest time after which a client is told to come again, in seconds: Codex waits as long as it hears. */
const longestWait = 60;

/**
 * A failure as the response says it. Where Codex does not know the code it asks again five times: what the request is
 * to blame for would only fail again.
 */
export function wordsOfFailure(error: LintelError): Failure {
  const { code, message, http, retryAfter = 0 } = error;
  if (isOverflow(error)) return { code: overflow, message };
  if (code === "rate_limited") {
    // The header for it went out long ago.
    const wait = retryAfter > 0 && retryAfter <= longestWait;
    const again = wait ? `; try again in ${retryAfter}s` : "";
    return { code: "rate_limit_exceeded", message: message + again };
  }
  return { code: http < 500 && !passing.has(http) ? "invalid_prompt" : code, message };
}

/** Statuses below 500 that say nothing of the request. */
const passing: ReadonlySet<number> = new Set([408, 499]);
