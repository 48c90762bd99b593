/** Files of certificates that can't be used. */
import {
  type CertificateFields,
  type CertificateFiles,
  clientFields,
  readCertificates,
} from "../certificates.js";
import type { Finding, Path } from "./problems.js";
import { type Fields, fields } from "./raw.js";
import { postgresUrl } from "./state.js";

/**
 * Those that a section names.
 * @param section as it stands in the file
 * @param at where it stands
 * @param directory relative paths count from here
 * @param names of its fields. Default: `ca`, `cert` and `key`
 */
export function checkFiles(
  section: unknown,
  at: Path,
  directory: string,
  names: CertificateFields = clientFields,
): Finding[] {
  const named = fields(section);
  const text = (key: string) => (typeof named[key] === "string" ? named[key] : undefined);
  const files = { ca: text(names.ca), cert: text(names.cert), key: text(names.key) };
  return readCertificates(files, directory).problems.map(({ part, message }) => ({
    path: [...at, names[part]],
    message,
  }));
}

/** Those of backends, and what is said of TLS where none is spoken. @param directory relative paths count from here */
export function checkBackendFiles(backends: readonly Fields[], directory: string): Finding[] {
  return backends.flatMap(({ tls, url, address }, i) => {
    if (tls === undefined) return [];
    const path = ["backends", i, "tls"];
    const clear = [url, address].some((at) => typeof at === "string" && /^(http|unix):/i.test(at));
    if (clear) return [{ path, message: "is for an https:// address" }];
    return checkFiles(tls, path, directory);
  });
}

/** Names of the files of certificates in the address of a PostgreSQL database, as libpq has them. */
export const databaseFiles = { ca: "sslrootcert", cert: "sslcert", key: "sslkey" } as const;

/** What the address of a database names of them. */
export function certificatesOfDatabase(database: unknown): CertificateFiles {
  const address = typeof database === "string" ? postgresUrl(database) : undefined;
  const file = (part: keyof typeof databaseFiles) =>
    address?.searchParams.get(databaseFiles[part]) ?? undefined;
  return { ca: file("ca"), cert: file("cert"), key: file("key") };
}

/** The same of those in the address of the database, whose relative paths count from where the process runs. */
export function checkDatabaseFiles(database: unknown): Finding[] {
  return readCertificates(certificatesOfDatabase(database)).problems.map(({ part, message }) => ({
    path: ["state", "database"],
    message: `${databaseFiles[part]}: ${message}`,
  }));
}
