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

test("of one that expired nothing would be trusted", () => {
  const expired = Object.assign(new Error("certificate has expired"), { code: "CERT_HAS_EXPIRED" });
  expect(reasonOf(expired)).toBe("certificate has expired (CERT_HAS_EXPIRED)");
});
