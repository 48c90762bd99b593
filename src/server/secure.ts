/** Listening over TLS: which certificates there are, and who is refused. */
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
});

/** Why a handshake failed. */
type TlsError = NodeJS.ErrnoException & { readonly reason?: string };

/** A connection, with the one beneath. */
type Handshake = TLSSocket & { readonly _parent?: Socket };

/** Tells the log of handshakes that failed, and who asks by http:// that TLS is spoken. */
export function watchHandshakes(server: TlsServer, log: Logger): void {
  const refused = seldom((reason: string) =>
    log.warn({ reason }, "a client was refused for its certificate"),
  );
  server.on("tlsClientError", (error: TlsError, socket: Handshake) => {
    const reason = error.reason ?? error.message;
    if (isAboutCertificate(error, socket)) refused(String(socket.authorizationError ?? reason));
    else log.debug({ reason }, "a TLS handshake failed");
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
