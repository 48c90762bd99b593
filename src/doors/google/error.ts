/** Errors as Google's clients read them: the status of an RPC, as JSON. */
import { Code } from "@connectrpc/connect";
import { isOverflow, type LintelError } from "../../core/errors.js";

const detail = (type: string) => `type.googleapis.com/google.rpc.${type}`;

/** `INVALID_ARGUMENT` of `InvalidArgument`. */
const statusOf = (code: Code): string =>
  (Code[code] ?? "Unknown")
    .replace(/(?<=[a-z])(?=[A-Z])/g, "_")
    .toUpperCase()
    .replace("CANCELED", "CANCELLED");

/**
 * The body of an error: Google's, with the details that RPC callers get.
 * @param requestId absent inside of a stream
 */
export function generateError(error: LintelError, requestId?: string): object {
  const { code, http, param, violations, retryAfter } = error;
  // In these words of Google's clients know that they have to make the conversation shorter.
  const message = isOverflow(error)
    ? `the input token count exceeds the maximum number of tokens allowed: ${error.message}`
    : error.message;
  const fieldViolations = violations.map(({ field, message: description }) => ({
    field,
    description,
  }));
  const metadata = param === undefined ? {} : { param };
  return {
    error: {
      code: http,
      message,
      status: statusOf(error.grpc),
      details: [
        { "@type": detail("ErrorInfo"), reason: code, domain: "lintel", metadata },
        ...(fieldViolations.length > 0 ? [{ "@type": detail("BadRequest"), fieldViolations }] : []),
        ...(retryAfter === undefined
          ? []
          : [{ "@type": detail("RetryInfo"), retryDelay: `${retryAfter}s` }]),
        ...(requestId === undefined ? [] : [{ "@type": detail("RequestInfo"), requestId }]),
      ],
    },
  };
}
