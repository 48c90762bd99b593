/** What went wrong on the way to a node. */
import { ConnectError } from "@connectrpc/connect";
import { fromConnectError } from "../../core/connect-error.js";
import { LintelError } from "../../core/errors.js";

/** The error for whatever a call to a node threw. */
export function failureOf(thrown: unknown): LintelError {
  const error = fromConnectError(thrown);
  if (error.code !== "upstream_failed" || !brokeOff(thrown)) return error;
  return new LintelError("upstream_unreachable", "the connection to the model server was lost", {
    cause: thrown,
  });
}

/** Whether the error is the connection's: of the operating system, or of HTTP/2. */
function brokeOff(thrown: unknown): boolean {
  const cause = thrown instanceof ConnectError ? thrown.cause : thrown;
  return cause instanceof Error && "code" in cause && typeof cause.code === "string";
}
