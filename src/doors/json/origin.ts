/** What a JSON door says of a request besides the message itself. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { invalidValue, LintelError } from "../../core/errors.js";
import type { Origin } from "../../core/gateway.js";
import { credentialOf } from "../credential.js";

/**
 * The origin of a call. Its signal is aborted when the client leaves before the
 * response is complete.
 * @param defect what was wrong while decoding
 */
export function originOf(
  request: FastifyRequest,
  reply: FastifyReply,
  door: string,
  defect?: LintelError,
): Origin {
  const timeout = timeoutOf(request.headers["x-request-timeout-ms"]);
  return {
    door,
    credential: credentialOf(request.headers.authorization),
    defect: defect ?? (timeout instanceof LintelError ? timeout : undefined),
    signal: leaving(request, reply),
    timeoutMs: timeout instanceof LintelError ? undefined : timeout,
    requestId: request.id,
    idempotencyKey: textOf(request.headers["idempotency-key"]),
  };
}

/** The close of the response: the one of the request comes once its body was read. */
function leaving(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const leave = () => controller.abort(new LintelError("cancelled", "the caller left"));
  if (request.raw.aborted) leave();
  reply.raw.once("close", () => {
    if (!reply.raw.writableEnded) leave();
  });
  return controller.signal;
}

/** Node joins headers that come twice, of names that it does not know, with a comma. */
const textOf = (header: string | string[] | undefined) =>
  Array.isArray(header) ? header.join(", ") : header;

function timeoutOf(given: string | string[] | undefined): number | undefined | LintelError {
  if (given === undefined) return undefined;
  const ms = Number(given);
  // A longer one than Node's timers can count would end at once.
  if (Number.isInteger(ms) && ms > 0 && ms < 2 ** 31) return ms;
  return invalidValue("x-request-timeout-ms", "must be a whole number of milliseconds, 1 or more");
}
