/** Certificates that are served, and that clients refuse for their dates. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Config } from "./schema.js";

/** A line for each certificate of the file, an authority's too, whose time is over or has not come. */
export function certificateWarnings({ tls }: Config): string[] {
  if (!tls) return [];
  return certificatesIn(tls.cert).flatMap(({ subject, validFrom, validTo }) => {
    const now = Date.now();
    const wrong =
      Date.parse(validTo) < now
        ? `expired at ${timeOf(validTo)}`
        : Date.parse(validFrom) > now && `does not count before ${timeOf(validFrom)}`;
    const whose = subject.replaceAll("\n", ", ");
    return wrong ? [`tls.cert: the certificate of ${whose} in ${tls.cert} ${wrong}`] : [];
  });
}

/** Those that can be read: that the file can be served with is looked at elsewhere. */
function certificatesIn(file: string): X509Certificate[] {
  try {
    const text = readFileSync(file, "latin1");
    const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
    return (blocks ?? []).map((block) => new X509Certificate(block));
  } catch {
    return [];
  }
}

const timeOf = (text: string) => new Date(text).toISOString();
