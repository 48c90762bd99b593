/** What a model server says when it refuses a request. */
import type { Call } from "../../core/call.js";
import type { LintelError } from "../../core/errors.js";
import type { BackendMethod } from "../../core/methods.js";
import type { Answer } from "./answer.js";
import { messageOf } from "./error-body.js";
import { failureOf as usualFailure } from "./failure.js";

/** Most bytes that are read of an answer that reports an error. */
const errorLimit = 1024 * 1024;

/** A request that was refused. */
export interface Refused {
  readonly status: number;
  readonly body: string;
  /** The error for it, which goes into the log; called once, where nothing else helps. */
  failure(): LintelError;
}

/**
 * Reads an answer whose status is not 2xx; `undefined` for one that is.
 * @param failureOf how errors are read. Default: as those of any model server
 * @throws LintelError as `Answer.text`
 */
export async function readRefused(
  answer: Answer,
  { id, log }: Call<BackendMethod>,
  failureOf = usualFailure,
): Promise<Refused | undefined> {
  const { status, headers } = answer;
  if (status >= 200 && status < 300) return undefined;
  const body = await answer.text(errorLimit);
  return {
    status,
    body,
    failure() {
      log.warn({ id, status, said: messageOf(body) }, "the model server refused");
      return failureOf(status, body, headers);
    },
  };
}
