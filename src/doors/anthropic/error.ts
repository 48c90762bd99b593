/** Errors as clients of the Messages API read them. */
import { type LintelError, tellsOverflow } from "../../core/errors.js";
import { errorBody } from "../json/error.js";

/** Types by HTTP status; of the others below 500 it is the request, from 500 on the API. */
const types: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
};

const typeOf = (status: number): string =>
  types[status] ?? (status < 500 ? "invalid_request_error" : "api_error");

/** By these Anthropic's clients find out that they have to send the whole conversation, and do. */
const unthreaded = { error_code: "thread_unsupported_request", unsupported: ["thread"] };

/**
 * The body of an error: Anthropic's, and in it what all doors tell.
 * @param requestId absent inside of a stream
 */
export function messagesError(error: LintelError, requestId?: string): object {
  const { error: said, detail } = errorBody(error);
  const type = typeOf(error.http);
  // Claude Code looks for these words, to make the conversation shorter.
  const message = tellsOverflow(said.message)
    ? `prompt is too long: ${said.message}`
    : said.message;
  return {
    type: "error",
    error: { ...said, message, type, ...(isUnthreaded(error) && { details: unthreaded }) },
    ...(requestId !== undefined && { detail, request_id: requestId }),
  };
}

const isUnthreaded = ({ code, param }: LintelError): boolean =>
  code === "unsupported_parameter" && param === "thread";
