/** What a JSON door says of a request besides the message itself. */

import type { FastifyReply, FastifyRequest } from "fastify";
import { type CallSignal, Cancellation } from "../../core/cancellation.js";
import { callerLeft } from "../../core/errors.js";
import type { Origin } from "../../core/gateway.js";
import type { DoorSettings } from "../door.js";
import { headerIn, originFrom } from "../origin.js";

/**
 * The origin of a call. Its signal is aborted when the client leaves before the
 * response is complete.
 * @param read who was let in, what was wrong while decoding, and what else the door's clients are like
 */
export function originOf(
  request: FastifyRequest,
  reply: FastifyReply,
  door: string,
  settings: DoorSettings,
  { admission, defect, cutsTokens }: Pick<Origin, "admission" | "defect" | "cutsTokens"> = {},
): Origin {
  const asked = {
    door,
    header: headerIn(request.headers),
    connection: request.raw.socket,
    signal: leaving(request, reply),
    requestId: request.id,
    admission,
    defect,
    cutsTokens,
  };
  return originFrom(asked, settings);
}

/**
 * Aborted when the client leaves before the response is complete. The close of the response tells: the one of the request
 * comes once its body was read.
 */
export function leaving(request: FastifyRequest, reply: FastifyReply): CallSignal {
  const { raw } = reply;
  const cancellation = new Cancellation();
  // Who sends too slowly over HTTP/2 was answered while the body was read.
  if (request.raw.aborted || raw.headersSent) cancellation.abort(callerLeft());
  raw.on("close", () => {
    if (!raw.writableEnded) cancellation.abort(callerLeft());
  });
  return cancellation;
}
