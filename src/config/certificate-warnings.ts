/** Certificates that are shown to others, who refuse them for their dates. */
import { certificatesIn } from "../certificates.js";
import { readRegular } from "../regular-file.js";
import type { Config } from "./schema.js";

/** A line for each certificate of a file, an authority's too, whose time is over or has not come. */
export function certificateWarnings(config: Config): string[] {
  const { tls } = config;
  const all = Object.entries({ ...(tls && { "tls.cert": tls.cert }), ...backendFiles(config) });
  const now = Date.now();
  return all.flatMap(([field, file]) =>
    certificatesIn(textOf(file)).flatMap(({ subject, validFrom, validTo }) => {
      const wrong =
        Date.parse(validTo) < now
          ? `expired at ${timeOf(validTo)}`
          : Date.parse(validFrom) > now && `does not count before ${timeOf(validFrom)}`;
      const whose = subject.replaceAll("\n", ", ");
      return wrong ? [`${field}: the certificate of ${whose} in ${file} ${wrong}`] : [];
    }),
  );
}

/** Certificates in PEM that new connections to model servers show, by the fields that name their files. */
export const backendCertificates = (config: Config): Record<string, string> =>
  Object.fromEntries(
    Object.entries(backendFiles(config)).map(([field, file]) => [field, textOf(file)]),
  );

const backendFiles = ({ backends = [] }: Config): Record<string, string> =>
  Object.fromEntries(
    backends.flatMap((entry, i) => {
      const cert = "tls" in entry ? entry.tls?.cert : undefined;
      return cert === undefined ? [] : [[`backends[${i}].tls.cert`, cert]];
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
