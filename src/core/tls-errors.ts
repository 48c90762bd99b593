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
  const code = codeOf(error);
  return code === undefined ? undefined : all.find((one) => codes[one].test(code));
}

/** OpenSSL's reason, in its words. */
const ofOpenssl = /:error:[\dA-F]+:[^:]*:[^:]*:([^:\n]+):/;

/** Node's own clients over HTTP/1 have one code for what fails as they write, and the reason in words alone. */
function codeOf(error: unknown): string | undefined {
  const { code, message } = Object(error) as Record<"code" | "message", unknown>;
  if (typeof code !== "string") return undefined;
  const [, reason] = (code === "EPROTO" && ofOpenssl.exec(String(message))) || [];
  return reason === undefined ? code : `ERR_SSL_${reason.toUpperCase().replaceAll(" ", "_")}`;
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
  return remedyOf(error) ?? (failure ? hints[failure] : (hintOfAlert(error) ?? hintIn(error)));
}

/** Where HTTP was meant, and an alert of TLS came for an answer, which undici's error has. */
function hintOfAlert(error: unknown): string | undefined {
  const { name, data } = Object(error) as { readonly name?: unknown; readonly data?: unknown };
  const isAlert = name === "HTTPParserError" && String(data).startsWith("\x15\x03");
  return isAlert ? tlsIsSpoken : undefined;
}

const hintIn = (error: unknown) =>
  error instanceof Error && wantsTls(error.message) ? tlsIsSpoken : undefined;

/** What to do where a server was asked over `http://` and says that it speaks TLS. */
export const tlsIsSpoken = "TLS is spoken there: its address begins with https://";

/** As nginx, servers in Go, Apache and Tomcat say with a 400 that their port speaks TLS alone. */
const asksForTls =
  /\b(?:plain HTTP request was sent to HTTPS port|client sent an HTTP request to an HTTPS server|speaking plain HTTP to an SSL-enabled server port|combination of host and port requires TLS)\b/i;

/** Whether a server's words, a page of HTML too, tell of `http://` where it speaks TLS alone. */
export const wantsTls = (words: string): boolean => asksForTls.test(words);

/** Codes with which a connection ends that the other side closed. */
const closed: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/** Whether the other side closed a connection. */
export const wasClosed = (error: unknown): boolean =>
  closed.has((Object(error) as { readonly code?: unknown }).code);

/** What may be so where one that was asked over `http://` closed the connection with no answer: others say nothing. */
export const mayWantTls = "if TLS is spoken there, its address begins with https://";

const hints: Readonly<Partial<Record<TlsFailure, string>>> = {
  cleartext: "no TLS is spoken there",
  dates: "it is the server's, who needs a new one",
  wanted: `the server wants ${wanted}`,
  handshake: `the server may want ${wanted}`,
};
