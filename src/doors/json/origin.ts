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
  const timeout = timeoutOf(header(request, "x-request-timeout-ms"));
  return {
    door,
    credential: credentialOf(request.headers.authorization),
    defect: defect ?? (timeout instanceof LintelError ? timeout : undefined),
    signal: leaving(request, reply),
    timeoutMs: timeout instanceof LintelError ? undefined : timeout,
    requestId: header(request, "x-request-id"),
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

function timeoutOf(text: string | undefined): number | undefined | LintelError {
  if (text === undefined) return undefined;
  // A longer one than Node's timers can count is none.
  if (/^\d{1,9}$/.test(text) && Number(text) > 0) return Number(text);
  return invalidValue("x-request-timeout-ms", "must be a whole number of milliseconds, 1 or more");
}

function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
