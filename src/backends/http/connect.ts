/** How connections to other servers are made. */
import type { OnReadOpts, Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { buildConnector as Connectors } from "undici";
import { wasClosed } from "../../core/tls-errors.js";
import type { ClientTls, ClientTlsOptions } from "./client-tls.js";
import { endedSilently, silently, unheard, withRemedy } from "./tls-remedy.js";
import { buildConnector } from "./undici.js";

/** What undici's connectors take, of which we name these. */
export interface ConnectOptions {
  /** Longest time for one, milliseconds. */
  readonly timeout: number;
  readonly onread?: OnReadOpts;
  /** For https: targets. Default: what Node trusts, and no certificate to show. */
  readonly tls?: ClientTls | undefined;
}

/**
 * Makes connections as undici does, and once more with patience where Node had too little. Node
 * tries the addresses of a name one after the other and gives each but the last 250 ms (500 from
 * 26 on): on a slow network, with a last one that leads nowhere (IPv6, as a rule), none is ever
 * made (nodejs/node#54359).
 */
export function patientConnector<C extends ConnectOptions>(options: C): Connectors.connector {
  const usual = connector(options);
  return (target, callback) => {
    const began = performance.now();
    usual(target, (...[error, socket]) => {
      const left = Math.floor(options.timeout - (performance.now() - began));
      if (socket) callback(null, socket);
      else if (left < 2 || !gaveUp(error)) callback(error, null);
      else {
        const autoSelectFamilyAttemptTimeout = Math.floor(left / 2);
        connector({ ...options, timeout: left, autoSelectFamilyAttemptTimeout })(target, callback);
      }
    });
  };
}

/**
 * undici's own, with the certificates of the moment. Its types know no `onread`, which it hands on, and
 * not that a connection which is being made is returned.
 */
export function connector({
  tls,
  ...options
}: ConnectOptions & { readonly autoSelectFamilyAttemptTimeout?: number }): Connectors.connector {
  let usual = buildConnector(options as object);
  let certificates: ClientTlsOptions | undefined;
  return (target, callback) => {
    const secured = target.protocol === "https:" ? tls?.current() : undefined;
    if (secured && secured !== certificates) {
      certificates = secured;
      // With no sessions of those before.
      usual = buildConnector({ ...options, ...secured } as object);
    }
    const { servername } = secured ?? {};
    return usual(
      servername === undefined ? target : { ...target, servername },
      (...[error, socket]) => {
        if (socket) callback(null, endingWithAlerts(socket, secured && tls));
        else callback(secured ? withRemedy(error) : error, null);
      },
    );
  };
}

/**
 * A connection that ends with the first error of TLS on it; in the clear, one whose errors tell where TLS may be meant. With TLS 1.3 a server refuses a client, for want of
 * a certificate, when that takes the connection for made already; then it closes it, and undici knows no more than that.
 * @param tls of the backend's entry, if it has one: what its errors say is in the words of that
 */
export function endingWithAlerts(socket: Socket, tls?: ClientTls): Socket {
  if (!(socket instanceof TLSSocket)) {
    return socket.once("error", (error: NodeJS.ErrnoException) => {
      if (wasClosed(error) && isSilent(socket)) unheard(error);
    });
  }
  socket.once("error", (error: NodeJS.ErrnoException) => {
    if (tls?.shows && error.code === "ECONNRESET" && isSilent(socket)) silently(error);
    socket.destroy(tls ? withRemedy(error) : error);
  });
  // Ahead of undici, who knows of the end alone.
  if (tls?.shows) socket.once("end", () => isSilent(socket) && socket.destroy(endedSilently()));
  return socket;
}

const isSilent = ({ bytesRead }: Socket) => bytesRead === 0;

/** Whether Node went on to the next address while one might still have answered. */
const gaveUp = (error: Error): boolean =>
  error instanceof AggregateError && error.errors.some(({ code }) => code === "ETIMEDOUT");
