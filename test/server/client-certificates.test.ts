/** Clients who have to show a certificate. */
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { connect } from "node:tls";
import { describe, expect, it } from "vitest";
import { silent } from "../../src/core/log.js";
import { http2, type Served, serve, session } from "./serve.js";

const pem = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));
/** This machine, as a client of `localhost`. */
const address = expect.stringMatching(/^(127\.0\.0\.1|::1)$/);
const own = { cert: pem("cert"), key: pem("key") };

/** What a client with a certificate says of itself. */
const showing = (name: string) => ({ cert: pem(`${name}-cert`), key: pem(`${name}-key`) });

/** A listener that takes clients of an authority, and what its log is warned of. */
async function serving(authority = "renewed-cert") {
  const warned: unknown[] = [];
  const log = { ...silent, warn: (...all: unknown[]) => warned.push(all) };
  const clientCa = pem(authority);
  return { ...(await serve({ tls: { ...own, clientCa }, host: "localhost", log })), warned };
}

/** What a client gets over HTTP/1; the code of the error where it is refused. */
function get({ port }: Pick<Served, "port">, client: object): Promise<string> {
  return new Promise((resolve) => {
    const at = { host: "localhost", port, path: "/hello", ca: own.cert, agent: false } as const;
    const call = request({ ...at, ...client }, (response) => {
      response.setEncoding("utf8").on("data", resolve);
    });
    call.on("error", (error: NodeJS.ErrnoException) => resolve(`${error.code}`)).end();
  });
}

describe("a listener that wants clients' certificates", () => {
  it("serves those of its authority, over HTTP/1 and HTTP/2", async () => {
    const it = await serving();
    expect(await get(it, showing("renewed"))).toBe("hello");
    const client = session(it.url, { ca: own.cert, ...showing("renewed") });
    expect((await http2(client, {})).body).toBe("hello");
    expect(it.warned).toEqual([]);
  });

  it.each([
    ["TLSv1.3", /^ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED$/],
    ["TLSv1.2", /^EPROTO$|HANDSHAKE_FAILURE$/],
  ] as const)("refuses who shows none, and the log is told: %s", async (maxVersion, code) => {
    const it = await serving();
    expect(await get(it, { maxVersion })).toMatch(code);
    const reason = "peer did not return a certificate";
    expect(it.warned).toEqual([[{ reason, address }, "a client was refused for its certificate"]]);
  });

  it.each(["TLSv1.3", "TLSv1.2"] as const)(
    "refuses who shows another's, and the log is told: %s",
    async (maxVersion) => {
      const it = await serving();
      expect(await get(it, { maxVersion, ...showing("named") })).toBe("ECONNRESET");
      const reason = "DEPTH_ZERO_SELF_SIGNED_CERT";
      expect(it.warned).toEqual([
        [{ reason, address }, "a client was refused for its certificate"],
      ]);
    },
  );

  it.each(["TLSv1.3", "TLSv1.2"] as const)(
    "looks at the certificate of every connection, whatever session a client comes back with: %s",
    async (maxVersion) => {
      const it = await serving();
      const open = (session?: Buffer) =>
        new Promise<{ resumed: boolean; session?: Buffer }>((resolve, reject) => {
          const at = { host: "localhost", port: it.port, ca: own.cert, maxVersion, session };
          const seen = { resumed: false } as { resumed: boolean; session?: Buffer };
          const socket = connect({ ...at, ...showing("renewed") }, () => {
            seen.resumed = socket.isSessionReused();
          });
          socket.on("session", (given: Buffer) => Object.assign(seen, { session: given }));
          socket
            .on("error", reject)
            .on("close", () => resolve(seen))
            .resume();
          socket.write("GET /hello HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        });
      const { session } = await open();
      expect(session).toBeDefined();
      expect((await open(session)).resumed).toBe(false);
    },
  );

  it("takes those of other authorities once it is told of them", async () => {
    const it = await serving();
    expect(await get(it, showing("named"))).toBe("ECONNRESET");
    it.renew({ ...own, clientCa: pem("named-cert") });
    expect(await get(it, showing("named"))).toBe("hello");
    expect(await get(it, showing("renewed"))).toBe("ECONNRESET");
  });
});
