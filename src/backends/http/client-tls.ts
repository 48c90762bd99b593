/** Whom the gateway is to a model server over TLS, and which authorities it trusts there. */
import { type Stats, statSync } from "node:fs";
import { type ConnectionOptions, createSecureContext } from "node:tls";
import { usableCertificates } from "../../certificates.js";
import type { Logger } from "../../core/log.js";

/** The `tls` of a backend's entry; files are PEM. */
export interface ClientTlsFiles {
  /** Authorities whose certificates count. Default: those that Node knows. */
  readonly ca?: string | undefined;
  /** Chain that is shown to a server that wants one, and its key. Default: none. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Name that the server's certificate is for. Default: the host of its address. */
  readonly server_name?: string | undefined;
}

/** What `tls.connect` takes of it. */
export type ClientTlsOptions = Pick<ConnectionOptions, "secureContext" | "servername">;

const sameFile = (a: Stats | undefined, b: Stats | undefined) =>
  a?.ino === b?.ino && a?.dev === b?.dev && a?.mtimeMs === b?.mtimeMs && a?.size === b?.size;

/**
 * The files of one backend. Certificates that machines issue live for hours: what the files hold
 * when a connection is made counts for it, with no reload.
 */
export class ClientTls {
  readonly #files: ClientTlsFiles;
  readonly #backend: string;
  readonly #log: Logger;
  #seen: readonly (Stats | undefined)[];
  #options: ClientTlsOptions;

  /**
   * @param backend its name, for the log
   * @throws Error that names a file which can't be used
   */
  constructor(files: ClientTlsFiles, backend: string, log: Logger) {
    this.#files = files;
    this.#backend = backend;
    this.#log = log;
    this.#seen = this.#look();
    this.#options = this.#read();
  }

  /** Whether a server that wants a certificate is shown one. */
  get shows(): boolean {
    return this.#files.cert !== undefined;
  }

  /**
   * For a connection that is made now; the same object until a file changes. Files that can't be used
   * just then, as they are being replaced, leave it as it was, and the log says so.
   */
  current(): ClientTlsOptions {
    const now = this.#look();
    if (now.every((stats, i) => sameFile(stats, this.#seen[i]))) return this.#options;
    this.#seen = now;
    try {
      this.#options = this.#read();
      this.#log.info({ backend: this.#backend }, "certificates for a backend were renewed");
    } catch (error) {
      const problem = (error as Error).message;
      this.#log.error(
        { backend: this.#backend, problem },
        "certificates for a backend can't be used: those before stay",
      );
    }
    return this.#options;
  }

  #look(): readonly (Stats | undefined)[] {
    const { ca, cert, key } = this.#files;
    return [ca, cert, key].map((file) => file && statOf(file)) as (Stats | undefined)[];
  }

  #read(): ClientTlsOptions {
    const { server_name: servername, ...files } = this.#files;
    const read = usableCertificates(`backends.${this.#backend}.tls`, files);
    // An authority below another, or a server's own certificate, counts by itself.
    const secureContext = createSecureContext({ ...read, allowPartialTrustChain: true });
    return servername === undefined ? { secureContext } : { secureContext, servername };
  }
}

/** Nothing where it is gone, or can't be looked at. */
function statOf(file: string): Stats | undefined {
  try {
    return statSync(file);
  } catch {
    return undefined;
  }
}

/** That of an entry; absent: it says nothing of TLS. @throws Error that names a file which can't be used */
export const clientTlsOf = (
  { name, tls }: { readonly name: string; readonly tls?: ClientTlsFiles | undefined },
  log: Logger,
): ClientTls | undefined => tls && new ClientTls(tls, name, log);
