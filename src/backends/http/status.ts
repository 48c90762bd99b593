/** What the status means that a model server answered with. */
import type { Retry } from "../../core/error-table.js";
import { LintelError } from "../../core/errors.js";
import { withoutAddresses } from "../../core/withheld.js";

/**
 * The error for a status that a model server answered with. Its address and
 * our key's rejection are not the caller's business: those become 502.
 * @param said the server's own message, if it had one that may be shown
 * @param leaving whether it said that it is about to leave
 */
export function fromUpstreamStatus(
  status: number,
  said?: string,
  retryAfter?: number,
  leaving = false,
): LintelError {
  const words = (fallback: string) => (said ? `${fallback}: ${withoutAddresses(said)}` : fallback);
  const options = { leaving, ...(retryAfter !== undefined && { retryAfter }) };
  switch (status) {
    case 400:
    case 413:
    case 422:
      return new LintelError("invalid_value", words("the model server refused the request"));
    case 408:
    case 504:
    case 522:
    case 524:
      return new LintelError("timeout", "the model server took too long");
    case 429:
      return new LintelError("rate_limited", "the model server is at its limit", options);
    case 503:
    case 529:
    // Groq's, for its flexible tier without room.
    case 498:
      return new LintelError("unavailable", "the model server can't take the request now", options);
    default:
      return upstreamFailed(status, retryOfStatus(status));
  }
}

/** The error for a status that is about the server, whose words are not for callers. */
export const upstreamFailed = (status: number, retry: Retry): LintelError =>
  new LintelError("upstream_failed", `the model server failed (status ${status})`, { retry });

/** What a gateway says of the server behind it, or Cloudflare, which has numbers of its own for it. */
const passing: ReadonlySet<number> = new Set([502, 520, 521, 523, 525, 526, 530]);

/**
 * A gateway's failure may pass; a server that refuses our key, leads elsewhere, or has no such path, operation or model any more, did
 * nothing yet. A fault of its own, as a 500 is, it may have for what is asked.
 */
function retryOfStatus(status: number): Retry {
  if (passing.has(status)) return "anywhere";
  if ([301, 302, 307, 308, 401, 402, 403, 404, 405, 410, 412, 501].includes(status)) {
    return "elsewhere";
  }
  return status >= 500 ? "doubtful" : "never";
}
