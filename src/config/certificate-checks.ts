/** Files of certificates that can't be used. */
import { readCertificates } from "./certificates.js";
import type { Finding } from "./problems.js";
import { type Fields, fields } from "./raw.js";
import { postgresUrl } from "./state.js";

/**
 * Those that a section names as `ca`, `cert` and `key`.
 * @param at where the section stands
 * @param directory relative paths count from here
 */
export function checkFiles(config: Fields, at: readonly string[], directory: string): Finding[] {
  const named = at.reduce((value, step) => fields(value[step]), config);
  const text = (key: string) => (typeof named[key] === "string" ? named[key] : undefined);
  const files = { ca: text("ca"), cert: text("cert"), key: text("key") };
  return readCertificates(files, directory).problems.map(({ part, message }) => ({
    path: [...at, part],
    message,
  }));
}

/** Names of the files of certificates in the address of a PostgreSQL database, as libpq has them. */
const databaseFiles = { ca: "sslrootcert", cert: "sslcert", key: "sslkey" } as const;

/** The same of those in the address of the database, whose relative paths count from where the process runs. */
export function checkDatabaseFiles(database: unknown): Finding[] {
  const address = typeof database === "string" ? postgresUrl(database) : undefined;
  const file = (part: keyof typeof databaseFiles) =>
    address?.searchParams.get(databaseFiles[part]) ?? undefined;
  const files = { ca: file("ca"), cert: file("cert"), key: file("key") };
  return readCertificates(files).problems.map(({ part, message }) => ({
    path: ["state", "database"],
    message: `${databaseFiles[part]}: ${message}`,
  }));
}
