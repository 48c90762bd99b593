/** TLS before a server that speaks none, for clients who show a certificate. */
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, type Socket } from "node:net";
import { createServer, type TLSSocket, type TlsOptions } from "node:tls";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** The path of a certificate of the fixtures, or of its key. */
export const pemFile = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));

/** What is in it. */
export const pem = (name: string): string => readFileSync(pemFile(name), "utf8");

/** What a backend's entry says of a front: whom it trusts, and the certificate that is taken. */
export const shown = {
  ca: pemFile("cert"),
  cert: pemFile("renewed-cert"),
  key: pemFile("renewed-key"),
};

/** One that listens. */
export interface TlsFront {
  readonly port: number;
  /** Fingerprints of what clients showed, a connection each. */
  readonly certificates: string[];
  /** Why clients were refused. */
  readonly refused: string[];
  /** Ends every connection. */
  cut(): void;
}

/**
 * A front of the name `localhost`, which takes clients with the certificate `renewed-cert` alone.
 * @param address of what is behind it
 */
export async function tlsFront(address: string, options: TlsOptions = {}): Promise<TlsFront> {
  const sockets = new Set<Socket>();
  const certificates: string[] = [];
  const refused: string[] = [];
  const server = createServer({
    cert: pem("cert"),
    key: pem("key"),
    ca: [pem("renewed-cert")],
    requestCert: true,
    ALPNProtocols: ["h2", "http/1.1"],
    ...options,
  });
  server.on("secureConnection", (client: TLSSocket) => {
    certificates.push(client.getPeerCertificate().fingerprint256);
    const behind = connect(Number(new URL(address).port), "127.0.0.1");
    for (const [from, to] of [
      [client, behind],
      [behind, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => {}).on("close", () => to.destroy());
      from.pipe(to);
    }
  });
  server.on(
    "tlsClientError",
    (error: NodeJS.ErrnoException) => void refused.push(String(error.code)),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  onTestFinished(() => {
    server.close();
    cut();
  });
  return { port: (server.address() as AddressInfo).port, certificates, refused, cut };
}
