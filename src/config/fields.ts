/** Kinds of fields that several parts of the configuration have. */
import * as z from "zod";
import { TimeZone } from "../core/time-zone.js";
import { didYouMean } from "./suggest.js";

/** The name of something, or another word that is not empty. */
export const name = z.string().min(1);

/** A file or folder; relative paths count from the configuration file's folder. */
export const path = name.meta({ format: "path" });

/** Files of connections that the gateway makes over TLS. */
const clientCertificates = {
  ca: path.optional().describe("Certificate authorities, PEM. Default: those that Node knows."),
  cert: path
    .optional()
    .describe("Certificate chain of the gateway, PEM, for a server that wants one."),
  key: path.optional().describe("Its private key, PEM."),
};

/** Those files, and other fields of the same section. */
export const clientTls = <S extends z.ZodRawShape>(others: S) =>
  z
    .strictObject({ ...clientCertificates, ...others })
    .check(needs("cert", "key"))
    .check(needs("key", "cert"));

/** Neither a certificate nor its key is of use alone. */
const needs = (one: "cert" | "key", other: "cert" | "key") =>
  z.refine<Readonly<Record<string, unknown>>>(
    (all) => all[one] !== undefined || all[other] === undefined,
    { path: [one], error: `is required where there is a ${other}` },
  );

/** The name of a model, or a pattern of such names. */
export const modelPattern = z
  .string()
  .min(1)
  .regex(/^[^*]*\*?[^*]*$/, { error: "must have at most one *" });

const originMessage =
  "must be *, null, or an origin such as https://example.com or app://localhost";

/** What browsers send as the origin of a page, in their spelling; or `*`. */
export const origin = z.string().transform((text, context) => {
  // Pages out of files have one of these two.
  if (["*", "null", "file://"].includes(text)) return text;
  const written = text.replace(/\/$/, "");
  // With no path, no user, and no pattern in it.
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\\\s*]+$/i.test(written) && URL.canParse(written)) {
    const { origin, protocol, host } = new URL(written);
    return origin === "null" ? `${protocol}//${host}` : origin;
  }
  context.addIssue({ code: "custom", message: originMessage });
  return z.NEVER;
});

/** A time zone of IANA's list; comes out as that writes it. */
export const timeZone = z.string().transform((text, context) => {
  try {
    // Newer versions of Node take +02:00 for one, too.
    if (/^[a-z]/i.test(text)) return new TimeZone(text).name;
  } catch {
    // Said below.
  }
  const hint = didYouMean(text, ["UTC", ...Intl.supportedValuesOf("timeZone")]);
  const message = `must be a time zone of IANA's list such as UTC or Europe/Berlin${hint}`;
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});
