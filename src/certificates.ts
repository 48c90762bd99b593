/** Certificates and their keys: read, and tried before anything is served, or asked, with them. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { resolve } from "node:path";
import { createSecureContext } from "node:tls";
import { NotAFile, readRegular } from "./regular-file.js";

type Part = "ca" | "cert" | "key";

/** Files in PEM, by what they hold. */
export type CertificateFiles = { readonly [P in Part]?: string | undefined };

/** Names of files in a section of the configuration. */
export type CertificateFields = Readonly<Record<Part, string>>;

/** In the section of what is served: its authorities are those of clients. */
export const servedFields = { ca: "client_ca", cert: "cert", key: "key" } as const;

/** In sections of connections that are made. */
export const clientFields: CertificateFields = { ca: "ca", cert: "cert", key: "key" };

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
      const content = readRegular(resolve(directory, file));
      read[part] = content;
      tryPart(part, content);
    } catch (error) {
      problems.push({ part, message: `the file ${file} ${reasonOf(part, error)}` });
    }
  }
  const { cert, key } = read;
  const at = problems.length === 0 && cert && key ? ownerOf(key, cert) : 0;
  if (at !== 0) {
    const message =
      at < 0
        ? `the key in ${files.key} is not the one of the certificate in ${files.cert}`
        : `the key in ${files.key} is that of a certificate which does not stand first in ${files.cert}`;
    problems.push({ part: "key", message });
  }
  return { read, problems };
}

/**
 * The same for those that have to be right.
 * @param at the section of the configuration that names the files
 * @param names of its fields. Default: `ca`, `cert` and `key`
 * @throws Error that names field and file of the first that can't be used
 */
export function usableCertificates(
  at: string,
  files: CertificateFiles,
  names: CertificateFields = clientFields,
): Certificates {
  const { read, problems } = readCertificates(files);
  const [first] = problems;
  if (first) throw new Error(`${at}.${names[first.part]}: ${first.message}`);
  return read;
}

/** Certificates in PEM; none where one of them can't be read. */
export function certificatesIn(pem: string | Buffer): X509Certificate[] {
  try {
    return everyCertificate(pem.toString());
  } catch {
    return [];
  }
}

/** When certificates end. */
export interface CertificateEnd {
  /** The field of the configuration that names their file. */
  readonly field: string;
  /** Of the first of them to end, seconds since the epoch. */
  readonly notAfter: number;
}

/** @param used certificates in PEM, by the fields that name their files; absent: none is used */
export function certificateEnds(
  used: Readonly<Record<string, string | Buffer | undefined>>,
): CertificateEnd[] {
  return Object.entries(used).flatMap(([field, pem = ""]) => {
    const notAfter = firstEnd(pem);
    return notAfter === undefined ? [] : [{ field, notAfter }];
  });
}

/** Files that are read once: a hundred authorities take tens of milliseconds, and metrics are asked for often. */
const ends = new WeakMap<Buffer, number | undefined>();

function firstEnd(pem: string | Buffer): number | undefined {
  if (typeof pem !== "string" && ends.has(pem)) return ends.get(pem);
  const all = certificatesIn(pem).map(({ validTo }) => Date.parse(validTo) / 1000);
  const first = all.length === 0 ? undefined : Math.min(...all);
  if (typeof pem !== "string") ends.set(pem, first);
  return first;
}

/** A line with which a certificate is meant to begin, also where other letters than its own stand before it. */
const beginning = /^(?!\s*#).*-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/;

/**
 * OpenSSL passes over what does not begin a line, as where files were joined that had no line's end or a mark of
 * their own, and stops at the first that is broken: the rest would be missing, and nobody told.
 * @throws Unreadable
 */
function everyCertificate(text: string): X509Certificate[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const begun = [...lines.keys()].filter((at) => beginning.test(lines[at] ?? ""));
  if (begun.length === 0) throw new Unreadable(holds.cert);
  return begun.map((at, n) => {
    const block = lines.slice(at, begun[n + 1]).join("\n");
    try {
      if (!block.startsWith("-----BEGIN")) throw new Error("not at the beginning of a line");
      return new X509Certificate(block);
    } catch (cause) {
      throw new Unreadable(`has a certificate that can't be read at line ${at + 1}`, { cause });
    }
  });
}

/** What is wrong with a file, in words that follow its name. */
class Unreadable extends Error {}

/** @throws Unreadable, or Error of OpenSSL, which says nothing to people */
function tryPart(part: Part, content: Buffer): void {
  if (part !== "key") everyCertificate(content.toString());
  // As authorities, Node takes anything.
  if (part !== "ca") createSecureContext({ [part]: content });
}

function reasonOf(part: Part, error: unknown): string {
  if (error instanceof NotAFile || error instanceof Unreadable) return error.message;
  const { code, syscall, reason } = error as NodeJS.ErrnoException & { readonly reason?: string };
  if (code === "ENOENT") return "does not exist";
  // It was read, and is too weak: for Node 24 a key of RSA with less than 2048 bits is.
  if (code?.startsWith("ERR_SSL_")) return `is refused by OpenSSL (${reason})`;
  return syscall ? `can't be read (${code})` : holds[part];
}

/** Which certificate a key is for; -1: none. Not as a context for TLS finds it, which takes a key of another type. */
function ownerOf(key: Buffer, certificates: Buffer): number {
  const own = createPrivateKey(key);
  return everyCertificate(certificates.toString()).findIndex((one) => one.checkPrivateKey(own));
}
