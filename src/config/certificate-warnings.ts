/** Certificates that are shown to others, or that others are held to, and that don't count for their dates. */
import type { X509Certificate } from "node:crypto";
import { certificatesIn } from "../certificates.js";
import { readRegular } from "../regular-file.js";
import { certificatesOfDatabase, databaseFiles } from "./certificate-checks.js";
import type { Config } from "./schema.js";

/** A line for each certificate of a file, an authority's too, whose time is over or has not come, or that counts for nobody. */
export function certificateWarnings(config: Config): string[] {
  const { tls, state, cache } = config;
  const database = certificatesOfDatabase(state.database);
  const all: readonly (readonly [field: string, file: string | undefined])[] = [
    ["tls.cert", tls?.cert],
    ["tls.client_ca", tls?.client_ca],
    ...Object.entries({ ...backendFiles(config, "ca"), ...backendFiles(config, "cert") }),
    ...Object.entries({ state, cache }).flatMap(([section, { redis }]) =>
      parts.map((part) => [`${section}.redis.tls.${part}`, redis?.tls?.[part]] as const),
    ),
    ...parts.map((part) => [`state.database: ${databaseFiles[part]}`, database[part]] as const),
  ];
  const now = Date.now();
  return all.flatMap(([field, file]) => {
    if (file === undefined) return [];
    const certificates = certificatesIn(textOf(file));
    return certificates.flatMap((one) => {
      const { subject, issuer, validFrom, validTo } = one;
      const wrong =
        Date.parse(validTo) < now
          ? `expired at ${timeOf(validTo)}`
          : Date.parse(validFrom) > now && `does not count before ${timeOf(validFrom)}`;
      // As an authority of clients Node takes one below another only beside that.
      const lone = field === "tls.client_ca" && !certificates.some(signed(one));
      return [
        ...(wrong ? [wrong] : []),
        ...(lone ? [`counts only beside that of who signed it, ${inLine(issuer)}`] : []),
      ].map((what) => `${field}: the certificate of ${inLine(subject)} in ${file} ${what}`);
    });
  });
}

const parts = ["ca", "cert"] as const;

/** Whether one is that of who signed another. */
const signed = (one: X509Certificate) => (by: X509Certificate) => one.checkIssued(by);

const inLine = (name: string) => name.replaceAll("\n", ", ");

/** Certificates in PEM that new connections to model servers show, by the fields that name their files. */
export const backendCertificates = (config: Config): Record<string, string> =>
  Object.fromEntries(
    Object.entries(backendFiles(config, "cert")).map(([field, file]) => [field, textOf(file)]),
  );

const backendFiles = ({ backends = [] }: Config, part: "ca" | "cert"): Record<string, string> =>
  Object.fromEntries(
    backends.flatMap((entry, i) => {
      const file = "tls" in entry ? entry.tls?.[part] : undefined;
      return file === undefined ? [] : [[`backends[${i}].tls.${part}`, file]];
    }),
  );

/** Nothing where it can't be read: whether the file can be used is looked at elsewhere. */
function textOf(file: string): string {
  try {
    return readRegular(file).toString("latin1");
  } catch {
    return "";
  }
}

const timeOf = (text: string) => new Date(text).toISOString();
