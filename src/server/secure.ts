/** Listening over TLS: which certificates there are, and who is refused. */
import { constants } from "node:crypto";
import type { Socket } from "node:net";
import type { SecureContextOptions, TLSSocket, TlsOptions, Server as TlsServer } from "node:tls";
import type { Logger } from "../core/log.js";
import { refuseSocket, speaksTls } from "./failure.js";
import { seldom } from "./seldom.js";
import type { Timeouts, TlsSettings } from "./settings.js";

/** What a server is made with. */
export function tlsOptions(tls: TlsSettings, timeouts: Timeouts): TlsOptions {
  return {
    ...contextOptions(tls),
    requestCert: tls.clientCa !== undefined,
    ALPNProtocols: ["h2", "http/1.1"],
    handshakeTimeout: timeouts.headers,
  };
}

/** What of it can change while it runs. */
export const contextOptions = ({ cert, key, clientCa }: TlsSettings): SecureContextOptions => ({
  cert,
  key,
  ca: clientCa,
  // OpenSSL looks at no certificate where a session is resumed: a client would come in with one that
  // expired for ever, by a new ticket each time.
  secureOptions: clientCa === undefined ? undefined : constants.SSL_OP_NO_TICKET,
});

/** Why a handshake failed. */
type TlsError = NodeJS.ErrnoException & { readonly reason?: string };

/** A connection, with the one beneath. */
type Handshake = TLSSocket & { readonly _parent?: Socket };

/** Tells the log of handshakes that failed, and who asks by http:// that TLS is spoken. */
export function watchHandshakes(server: TlsServer, log: Logger): void {
  const refused = seldom((fields: { reason: string; address: string | undefined }) =>
    log.warn(fields, "a client was refused for its certificate"),
  );
  // Node keeps an address that was read once: behind a handshake that failed there is none to be read.
  server.prependListener("connection", ({ remoteAddress: _ }) => {});
  server.on("tlsClientError", (error: TlsError, socket: Handshake) => {
    const reason = error.reason ?? error.message;
    if (isAboutCertificate(error, socket)) {
      const address = socket._parent?.remoteAddress;
      refused({ reason: String(socket.authorizationError ?? reason), address });
    } else log.debug({ reason }, "a TLS handshake failed");
    // Who asks by http:// reads an answer in cleartext, which only the connection beneath can send.
    if (error.code === "ERR_SSL_HTTP_REQUEST" && socket._parent) {
      refuseSocket(socket._parent, "400 Bad Request", speaksTls());
    }
    socket.destroy();
  });
}

/** Whether a client had none of the certificates that are asked for. */
const isAboutCertificate = ({ code }: TlsError, { authorizationError }: TLSSocket): boolean =>
  code === "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE" || Boolean(authorizationError);
