/** Fields of the configuration that all model servers over HTTP have. */
import { z } from "zod";
import { allowPattern } from "./allow.js";

/** The name of a header. */
export const headerName = () =>
  z
    .string()
    .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, { error: "must be the name of an HTTP header" });

/** The value of a header. */
export const headerValue = () =>
  z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, { error: "must be a header's value on one line" });

/**
 * Address of a server, without user and password: it may be logged, they may not.
 * @param instead fields that user and password belong to
 */
export const serverUrl = (instead = "api_key or headers") =>
  z
    .url({ protocol: /^https?$/, error: "must be an http:// or https:// address" })
    .refine((text) => !/^\w+:\/\/[^/]*@/.test(text), {
      error: `must carry no user and password: put them into ${instead}`,
    });

/** Where images may be fetched from besides the server itself. */
export const allowHosts = () =>
  z
    .array(
      z.string().regex(allowPattern, {
        error:
          "must be a host (cdn.example.com, *.example.com) or an origin (http://10.0.0.5:9000)",
      }),
    )
    .default([])
    .describe("Where images may be fetched from besides the server itself: hosts, or origins.");
