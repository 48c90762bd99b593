/** Certificates that are served, and that clients refuse for their dates. */
import { readFileSync } from "node:fs";
import { certificatesIn } from "./certificates.js";
import type { Config } from "./schema.js";

/** A line for each certificate of the file, an authority's too, whose time is over or has not come. */
export function certificateWarnings({ tls }: Config): string[] {
  if (!tls) return [];
  return certificatesIn(textOf(tls.cert)).flatMap(({ subject, validFrom, validTo }) => {
    const now = Date.now();
    const wrong =
      Date.parse(validTo) < now
        ? `expired at ${timeOf(validTo)}`
        : Date.parse(validFrom) > now && `does not count before ${timeOf(validFrom)}`;
    const whose = subject.replaceAll("\n", ", ");
    return wrong ? [`tls.cert: the certificate of ${whose} in ${tls.cert} ${wrong}`] : [];
  });
}

/** Nothing where it can't be read: that the file can be served with is looked at elsewhere. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}

const timeOf = (text: string) => new Date(text).toISOString();
