/** Fields of the configuration that all model servers over HTTP have. */
import { z } from "zod";
import { methods } from "../../core/methods.js";
import { allowPattern } from "./allow.js";

/** The name of a header. */
export const headerName = () =>
  z
    .string()
    .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, { error: "must be the name of an HTTP header" });

/** The value of a header. */
export const headerValue = () =>
  z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, { error: "must be a header's value on one line" });

/** Headers by name, which the operator sets. */
export const headers = () => z.record(headerName(), headerValue());

/** Those of every request to a server, besides what requests have anyway. */
export const furtherHeaders = () =>
  headers().default({}).describe("Further headers of every request to it.");

/** Headers by their names in lower case, as those are that requests bring themselves. */
export const byLowerName = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

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

/**
 * Address of a server.
 * @param instead fields that user and password belong to
 */
export const serverUrl = (instead = "api_key or headers") =>
  z
    .url({ protocol: /^https?$/, error: "must be an http:// or https:// address", abort: true })
    .check(withoutUser(instead));

const requestFields = new Set(
  [methods.chat, methods.textToImage].flatMap(({ input }) => input.fields.map(({ name }) => name)),
);

/** The name of a field that requests have. */
export const requestField = () =>
  z.string().refine((name) => requestFields.has(name), { error: "must be a request field" });

const allowMessage =
  "must be a host (cdn.example.com, *.example.com) or an origin (http://10.0.0.5:9000)";

/** Where images may be fetched from besides the server itself. */
export const allowHosts = () =>
  z
    .array(
      z
        .string()
        .regex(allowPattern, { error: allowMessage, abort: true })
        .refine((entry) => !entry.includes("://") || URL.canParse(entry), { error: allowMessage }),
    )
    .default([])
    .describe("Where images may be fetched from besides the server itself: hosts, or origins.");
