import { expect, test } from "vitest";
import { reasonOf } from "../../src/core/log.js";

const bare = (fields: object) => Object.assign(Object.create(null), fields);

test("whatever was thrown has words", () => {
  expect(reasonOf(new Error("outer", { cause: bare({}) }))).toBe("outer: [object Object]");
  expect(reasonOf(bare({ message: "no room" }))).toBe("no room");
  expect(reasonOf("a text")).toBe("a text");
  expect(reasonOf(Symbol("s"))).toBe("Symbol(s)");
});

test.each([
  ["self-signed certificate", "DEPTH_ZERO_SELF_SIGNED_CERT"],
  ["self-signed certificate in certificate chain", "SELF_SIGNED_CERT_IN_CHAIN"],
  ["unable to verify the first certificate", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
  ["unable to get local issuer certificate", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"],
])("of a certificate that is not trusted is said what to do: %s", (message, code) => {
  const cause = Object.assign(new Error(message), { code });
  const remedy = "NODE_EXTRA_CA_CERTS=FILE trusts the authority in a file";
  expect(reasonOf(new Error("fetch failed", { cause }))).toBe(
    `fetch failed: ${message} (${code}); ${remedy}`,
  );
});

test.each([
  ["wrong version number", "WRONG_VERSION_NUMBER", "350:", "; no TLS is spoken there"],
  [
    "tlsv13 alert certificate required",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "1601:SSL alert number 116",
    "; the server wants a certificate, which a backend's tls.cert and tls.key name",
  ],
])("of what OpenSSL says the reason is told: %s", (reason, name, behind, hint) => {
  const place = "SSL routines:ssl3_read:";
  const cause = Object.assign(
    new Error(`80BC4D85957F0000:error:0A00045C:${place}${reason}:../ssl/record.c:${behind}\n`),
    { code: `ERR_SSL_${name}` },
  );
  expect(reasonOf(new Error("fetch failed", { cause }))).toBe(
    `fetch failed: ${reason} (ERR_SSL_${name})${hint}`,
  );
  // gRPC's client has the words of the cause in its own.
  expect(reasonOf(new Error(`[internal] ${cause.message}`, { cause }))).toBe(
    `[internal] ${reason}${hint}`,
  );
});

test.each(["../ssl/record.c", String.raw`c:\ws\ssl\record.c`])(
  "where Node has the system's code for what OpenSSL says, its words tell: %s",
  (file) => {
    const place = `SSL routines:ssl3_get_record:wrong version number:${file}:350:`;
    const message = `write EPROTO 80BC4D85957F0000:error:0A00010B:${place}\n`;
    expect(reasonOf(Object.assign(new Error(message), { code: "EPROTO" }))).toBe(
      "write EPROTO wrong version number; no TLS is spoken there",
    );
    expect(reasonOf(Object.assign(new Error("write EPROTO"), { code: "EPROTO" }))).toBe(
      "write EPROTO",
    );
  },
);

test.each([
  "The plain HTTP request was sent to HTTPS port",
  "Client sent an HTTP request to an HTTPS server.\n",
  "Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />",
  "Bad Request\nThis combination of host and port requires TLS.\n",
])("where a server says that it wants TLS, what its address has to be is told: %j", (said) => {
  expect(reasonOf(new Error("it failed", { cause: new Error(said) }))).toBe(
    `it failed: ${said}; TLS is spoken there: its address begins with https://`,
  );
});

test("of one that expired nothing would be trusted", () => {
  const expired = Object.assign(new Error("certificate has expired"), { code: "CERT_HAS_EXPIRED" });
  expect(reasonOf(expired)).toBe(
    "certificate has expired (CERT_HAS_EXPIRED); it is the server's, who needs a new one",
  );
});
