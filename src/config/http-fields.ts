/** Kinds of fields about HTTP: addresses of servers, and headers. */
import * as z from "zod";
import { secretPrefix } from "../backends/http/webhook-signature.js";
import { isBase64 } from "../core/base64.js";

/** An address over http or https. */
export const httpAddress = z.url({
  protocol: /^https?$/,
  error: "must be an http:// or https:// address",
  abort: true,
});

/**
 * No user and no password in an address: it may be logged, they may not.
 * @param instead fields that user and password belong to
 */
export const withoutUser = (instead: string) =>
  z.refine<string>((text) => !/^\w+:\/\/[^/]*@/.test(text), {
    error: `must carry no user and password: put them into ${instead}`,
  });

/** Neither of an address that paths are added to; what stood there would be lost. */
export const withoutQuery = z.refine<string>((text) => !/[?#]/.test(text), {
  error: "must have no query and no fragment",
});

/** None of an address that is asked as it stands: it would not be sent. */
export const withoutFragment = z.refine<string>((text) => !text.includes("#"), {
  error: "must have no fragment",
});

/**
 * Address of a server that is asked.
 * @param instead fields that user and password belong to
 */
export const serverUrl = (instead = "api_key or headers") =>
  httpAddress.check(withoutUser(instead));

/** Address that paths are added to, without a slash at the end. */
export const httpUrl = httpAddress
  .check(withoutQuery)
  .transform((text) => text.replace(/\/+$/, ""));

/** The name of a header. */
export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, { error: "must be the name of an HTTP header" });

/** The same in lower case, as headers are looked up. */
export const lowerHeaderName = headerName.transform((header) => header.toLowerCase());

/** The value of a header. */
export const headerValue = z
  .string()
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, { error: "must be a header's value on one line" });

/** A key that is sent as a bearer token. */
export const bearerToken = headerValue.refine((text) => !/^\s*bearer\s/i.test(text), {
  error: "must be the key alone: Bearer is put before it",
});

/** A secret of Standard Webhooks. */
const signingSecret = z.string().refine(
  (text) => {
    const key = text.slice(secretPrefix.length);
    const { length } = Buffer.from(key, "base64");
    return text.startsWith(secretPrefix) && isBase64(key) && length >= 24 && length <= 64;
  },
  { error: `must be ${secretPrefix} and base64 of 24 to 64 bytes: openssl rand -base64 32` },
);

/** Secrets with which each request to a webhook is signed. */
export const signingSecrets = z
  .array(signingSecret)
  .max(4)
  .default([])
  .describe(
    "Secrets (whsec_…) with which each request to it is signed, as Standard Webhooks has it; several while one takes the place of another. Default: not signed.",
  );

/** Headers by name, which the operator sets. */
export const headers = z.record(headerName, headerValue);
