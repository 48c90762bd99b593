/** What is said of a target that does not answer in time, or to the end. */
import type { AttemptRecord } from "../call-attributes.js";
import type { ErrorCode } from "../error-table.js";
import { LintelError } from "../errors.js";

/** It did not begin. @param ms how long it was waited for */
export const tooLate = (ms: number): LintelError =>
  new LintelError("timeout", "the model server did not begin to answer in time", {
    cause: new Error(`no message for ${ms} ms (timeouts.first_token)`),
  });

/** It began, and says nothing more. @param ms how long it was waited for */
export const fellSilent = (ms: number | undefined): LintelError =>
  new LintelError("timeout", "the model server fell silent", {
    cause: new Error(`no message for ${ms} ms (timeouts.between_tokens)`),
  });

/** The failure that an attempt ended with. */
export const unfinished = (ending: AttemptRecord["outcome"] | LintelError): LintelError =>
  ending instanceof LintelError
    ? ending
    : new LintelError(ending as ErrorCode, "the model server did not answer the call to its end");
