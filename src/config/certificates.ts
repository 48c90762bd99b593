/** Certificates and their keys: read, and tried before anything is served with them. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createSecureContext } from "node:tls";

type Part = "ca" | "cert" | "key";

/** Files in PEM, by what they hold. */
export type CertificateFiles = { readonly [P in Part]?: string | undefined };

/** What stands in them. */
export type Certificates = { [P in Part]?: Buffer };

/** What can't be used of them. */
export interface CertificateProblem {
  readonly part: Part;
  /** Names the file. */
  readonly message: string;
}

const holds: Readonly<Record<Part, string>> = {
  ca: "holds no certificate in PEM",
  cert: "holds no certificate in PEM",
  key: "holds no private key in PEM, or one with a passphrase",
};

/**
 * Reads certificates.
 * @param directory relative paths count from here
 */
export function readCertificates(
  files: CertificateFiles,
  directory = "",
): { readonly read: Certificates; readonly problems: readonly CertificateProblem[] } {
  const read: Certificates = {};
  const problems: CertificateProblem[] = [];
  for (const part of ["ca", "cert", "key"] as const) {
    const file = files[part];
    if (!file) continue;
    try {
      const content = readFileSync(resolve(directory, file));
      read[part] = content;
      tryPart(part, content);
    } catch (error) {
      problems.push({ part, message: `the file ${file} ${reasonOf(part, error)}` });
    }
  }
  const { cert, key } = read;
  if (problems.length === 0 && cert && key && !belong(cert, key)) {
    const message = `the key in ${files.key} is not the one of the certificate in ${files.cert}`;
    problems.push({ part: "key", message });
  }
  return { read, problems };
}

/**
 * The same for those that have to be right.
 * @param at the field of the configuration that names the files
 * @throws Error that names field and file of the first that can't be used
 */
export function usableCertificates(at: string, files: CertificateFiles): Certificates {
  const { read, problems } = readCertificates(files);
  const [first] = problems;
  if (first) throw new Error(`${at}.${first.part}: ${first.message}`);
  return read;
}

/** @throws Error of OpenSSL, which says nothing to people */
function tryPart(part: Part, content: Buffer): void {
  // As authorities, Node takes anything.
  if (part === "ca") new X509Certificate(content);
  else createSecureContext({ [part]: content });
}

function reasonOf(part: Part, error: unknown): string {
  const { code, syscall, reason } = error as NodeJS.ErrnoException & { readonly reason?: string };
  if (code === "ENOENT") return "does not exist";
  // It was read, and is too weak: for Node 24 a key of RSA with less than 2048 bits is.
  if (code?.startsWith("ERR_SSL_")) return `is refused by OpenSSL (${reason})`;
  return syscall ? `can't be read (${code})` : holds[part];
}

/** Not as a context for TLS, which takes a key of another type than the certificate's. */
const belong = (cert: Buffer, key: Buffer): boolean =>
  new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
