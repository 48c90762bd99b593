/** What went wrong between two that would speak TLS, by the codes of Node and OpenSSL. */

/**
 * What it is: bytes that are no TLS, a certificate of an authority that is not known here, or of another name, or
 * whose time is over or has not come; and what the other side says: that it wants a certificate, that it does not
 * take the one it was shown, or no more than that there is nothing in common.
 */
export type TlsFailure =
  | "cleartext"
  | "untrusted"
  | "name"
  | "dates"
  | "wanted"
  | "refused"
  | "handshake";

const codes: Readonly<Record<TlsFailure, RegExp>> = {
  cleartext: /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNKNOWN_PROTOCOL)$/,
  untrusted:
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(VERIFY|GET_ISSUER)_\w+)$/,
  name: /^ERR_TLS_CERT_ALTNAME_INVALID$/,
  dates: /^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/,
  // What stands before it is another thing in OpenSSL 3.5: SSL/TLS_ALERT_ for SSLV3_ALERT_.
  wanted: /^ERR_SSL_.*_ALERT_CERTIFICATE_REQUIRED$/,
  refused:
    /^ERR_SSL_.*_ALERT_((BAD|UNSUPPORTED)_CERTIFICATE|CERTIFICATE_(REVOKED|EXPIRED|UNKNOWN)|UNKNOWN_CA|ACCESS_DENIED)$/,
  handshake: /^ERR_SSL_.*_ALERT_HANDSHAKE_FAILURE$/,
};

const all = Object.keys(codes) as TlsFailure[];

/** What of these an error is; absent: none. */
export function tlsFailureOf(error: unknown): TlsFailure | undefined {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === "string" ? all.find((one) => codes[one].test(code)) : undefined;
}

/** Whether a connection failed because who is there speaks no TLS. */
export const speaksNoTls = (error: unknown): boolean => tlsFailureOf(error) === "cleartext";

/** What to do about an error: as it has it itself, or where a certificate is not trusted; absent: it tells enough. */
export function remedyOf(error: unknown): string | undefined {
  const { remedy } = Object(error) as { readonly remedy?: unknown };
  if (typeof remedy === "string") return remedy;
  return tlsFailureOf(error) === "untrusted"
    ? "NODE_EXTRA_CA_CERTS=FILE trusts the authority in a file"
    : undefined;
}

const wanted = "a certificate, which a backend's tls.cert and tls.key name";

/** The same with what only the log says: of who is not known to have a field for it. */
export function hintOf(error: unknown): string | undefined {
  const failure = tlsFailureOf(error);
  return remedyOf(error) ?? (failure ? hints[failure] : hintOfAlert(error));
}

/** Where HTTP was meant, and an alert of TLS came for an answer, which undici's error has. */
function hintOfAlert(error: unknown): string | undefined {
  const { name, data } = Object(error) as { readonly name?: unknown; readonly data?: unknown };
  const isAlert = name === "HTTPParserError" && String(data).startsWith("\x15\x03");
  return isAlert ? "TLS is spoken there: its address begins with https://" : undefined;
}

const hints: Readonly<Partial<Record<TlsFailure, string>>> = {
  cleartext: "no TLS is spoken there",
  wanted: `the server wants ${wanted}`,
  handshake: `the server may want ${wanted}`,
};
