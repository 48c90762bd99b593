/** What to do about connections over TLS that failed, where the entry of the backend has fields for that. */
import { mayWantTls, type TlsFailure, tlsFailureOf } from "../../core/tls-errors.js";

const named = "which the backend's tls.cert and tls.key name";

const remedies: Readonly<Partial<Record<TlsFailure, string>>> = {
  untrusted: "the backend's tls.ca trusts the authority in a file",
  name: "the backend's tls.server_name is the name that it must have",
  wanted: `the server wants a certificate, ${named}`,
  refused: "the server does not take that of the backend's tls.cert",
  handshake: `the server may want another certificate, ${named}`,
};

/** An error that says what to do about it. */
export function withRemedy<E extends Error>(error: E): E {
  const failure = tlsFailureOf(error);
  const remedy = failure && remedies[failure];
  return remedy === undefined ? error : Object.assign(error, { remedy });
}

/** An error of a server in the clear that said nothing at all: those that speak TLS close such connections, as a rule. */
export const unheard = <E extends Error>(error: E): E =>
  Object.assign(error, { remedy: mayWantTls });

/** An error of a server that said nothing at all when it was shown a certificate: Node's own refuse one so. */
export const silently = <E extends Error>(error: E): E =>
  Object.assign(error, { remedy: "it may not take the certificate of the backend's tls.cert" });

/** That of a connection which such a server ended. */
export const endedSilently = (): Error =>
  silently(
    Object.assign(new Error("the server ended the connection without a word"), {
      code: "ECONNRESET",
    }),
  );
