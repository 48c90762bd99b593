/** What went wrong on the way to a node. */
import { Code, ConnectError } from "@connectrpc/connect";
import { fromConnectError } from "../../core/connect-error.js";
import { LintelError } from "../../core/errors.js";
import { nonsense } from "../http/failure.js";

/** The error for whatever a call to a node threw, other than for our own abort. */
export function failureOf(thrown: unknown): LintelError {
  const error = fromConnectError(thrown);
  if (isTurnedAway(thrown)) {
    return new LintelError("overloaded", "the model server can take no more requests now", {
      cause: thrown,
    });
  }
  if (isTooLarge(thrown)) {
    return new LintelError(
      "upstream_failed",
      "the model server's answer is larger than any may be",
      {
        cause: thrown,
      },
    );
  }
  const broke = error.code === "upstream_failed" && brokeOff(thrown);
  if (broke || fellSilent(thrown) || endsInMessage(thrown)) {
    return new LintelError("upstream_unreachable", "the connection to the model server was lost", {
      cause: thrown,
    });
  }
  if (isNoAnswer(thrown)) return nonsense("answered with something that can't be read", thrown);
  return error;
}

/** Whether a call found nobody, or lost the connection: not where the node said that of a server behind it. */
export const isLost = (error: LintelError, thrown: unknown): boolean =>
  error.code === "upstream_unreachable" && !wasSaid(thrown);

/** Whether our own deadline ended a call, and the node goes on unless it is told. */
export const ranOut = (thrown: unknown): boolean =>
  isOurs(thrown) && thrown.code === Code.DeadlineExceeded;

/** Whether an error is of the library on this side, and no server's status. */
const isOurs = (thrown: unknown): thrown is ConnectError =>
  thrown instanceof ConnectError && !thrown.metadata.has("grpc-status");

/** Whether a message has more bytes than are read. Only the words tell it from another limit. */
const isTooLarge = (thrown: unknown): boolean =>
  isOurs(thrown) &&
  thrown.code === Code.ResourceExhausted &&
  thrown.rawMessage.includes("readMaxBytes");

/** Whether the library can't make anything of an answer. Its codes for that are those of requests that a server refuses. */
const isNoAnswer = (thrown: unknown): thrown is ConnectError =>
  isOurs(thrown) && thrown.rawMessage.startsWith("protocol error: ");

/** Whether an answer ends within a message. Only the words tell. */
const endsInMessage = (thrown: unknown): boolean =>
  isNoAnswer(thrown) && /: (?:incomplete envelope$|promised )/.test(thrown.rawMessage);

/** Only who answers sends details. */
const wasSaid = (thrown: unknown) => thrown instanceof ConnectError && thrown.details.length > 0;

/**
 * Whether the server refused the stream for having too much to do. Only the words tell.
 * Those of `REFUSED_STREAM` would not: Node has them for connections that ended as well.
 */
const isTurnedAway = (thrown: unknown): boolean =>
  thrown instanceof ConnectError &&
  !wasSaid(thrown) &&
  /stream closed with error code \w*ENHANCE_YOUR_CALM\b/i.test(thrown.rawMessage);

/** Whether nothing was heard of the node, not even the answer to a probe. Only the words tell. */
const fellSilent = (thrown: unknown): boolean =>
  thrown instanceof ConnectError && !wasSaid(thrown) && thrown.rawMessage === "PING timed out";

/**
 * Whether the connection ended under the call. It shows as an error of the
 * operating system or of HTTP/2; as a stream that was reset, though we did not
 * ask for it; or as an answer without its end.
 */
function brokeOff(thrown: unknown): boolean {
  if (!(thrown instanceof ConnectError)) return true;
  if (wasSaid(thrown)) return false;
  const { cause, code, rawMessage } = thrown;
  if (cause instanceof Error && "code" in cause && typeof cause.code === "string") return true;
  return code === Code.Canceled || code === Code.Aborted || rawMessage.endsWith("missing status");
}
