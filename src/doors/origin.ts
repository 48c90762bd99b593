/** Where a call comes from, the same for every door. */
import type { IncomingHttpHeaders } from "node:http";
import type { Admission } from "../core/call.js";
import type { CallSignal } from "../core/cancellation.js";
import { invalidValue, LintelError } from "../core/errors.js";
import type { Origin } from "../core/gateway.js";
import { longestTimerMs } from "../core/timers.js";
import { peerOf } from "./client-address.js";
import { credentialOf } from "./credential.js";
import type { DoorSettings } from "./door.js";
import type { Connection } from "./forwarded.js";

/** What only the door knows of a request. */
export interface Asked {
  /** The door, for example `"rest"`. */
  readonly door: string;
  /** What a header says, by its name in lower case. */
  readonly header: (name: string) => string | undefined;
  /** What it came by; absent once that is closed. */
  readonly connection: Connection | undefined;
  /** Aborted when the client leaves. */
  readonly signal: CallSignal;
  readonly requestId: string | undefined;
  /** The deadline that the protocol itself says, milliseconds from now. */
  readonly timeoutMs?: number | undefined;
  /** Who is let in, or why nobody is; absent: nobody was asked. */
  readonly admission: Admission | undefined;
  /** What was wrong while decoding. */
  readonly defect: LintelError | undefined;
  /** As of `Origin`. */
  readonly cutsTokens?: boolean | undefined;
}

/**
 * What the headers of a request say, `:authority` among them over HTTP/2. Node joins those that
 * come twice, of names that it does not know, with a comma.
 */
export function headerIn(headers: IncomingHttpHeaders): Asked["header"] {
  return (name) => {
    const said = headers[name];
    return Array.isArray(said) ? said.join(", ") : said;
  };
}

/**
 * The origin of a call. Of `x-request-timeout-ms` and what the protocol itself says
 * (`grpc-timeout`, `connect-timeout-ms`) the shorter one counts.
 */
export function originFrom(asked: Asked, settings: DoorSettings): Origin {
  const { header, defect, timeoutMs, admission } = asked;
  const own = timeoutIn(header("x-request-timeout-ms"));
  const unreadable = own instanceof LintelError;
  return {
    door: asked.door,
    credential: credentialOf(header("authorization")),
    admission,
    client: isLetIn(admission) ? undefined : clientOf(asked, settings),
    defect: defect ?? (unreadable ? own : undefined),
    signal: asked.signal,
    timeoutMs: unreadable ? timeoutMs : shorter(own, timeoutMs),
    requestId: asked.requestId,
    header,
    idempotencyKey: header("idempotency-key"),
    cutsTokens: asked.cutsTokens,
    baseUrl: settings.baseUrlOf?.(header, asked.connection),
  };
}

/** Whether somebody was: who is known by a name is not told of by an address. */
const isLetIn = (admission: Admission | undefined): boolean =>
  admission !== undefined && !(admission instanceof LintelError);

/** Where a request came from. */
export const clientOf = (
  { header, connection }: Pick<Asked, "header" | "connection">,
  settings: Pick<DoorSettings, "clientOf">,
): string | undefined => (settings.clientOf ?? peerOf)(header, connection);

/** The same of a request that came by something with a socket. */
export const clientOfRequest =
  (settings: Pick<DoorSettings, "clientOf">) =>
  (headers: IncomingHttpHeaders, { socket }: Socketed): string | undefined =>
    clientOf({ header: headerIn(headers), connection: socket }, settings);

/** Absent: it is closed. */
interface Socketed {
  readonly socket?: Connection | undefined;
}

function timeoutIn(given: string | undefined): number | LintelError | undefined {
  if (given === undefined) return undefined;
  const ms = Number(given);
  // A longer one than Node's timers can count would end at once.
  if (/^\s*\d+\s*$/.test(given) && ms > 0 && ms <= longestTimerMs) return ms;
  return invalidValue(
    "x-request-timeout-ms",
    `must be a whole number of milliseconds, from 1 to ${longestTimerMs}`,
  );
}

const shorter = (one: number | undefined, other: number | undefined) =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
