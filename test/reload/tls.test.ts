/** Certificates that are renewed while a gateway runs. */
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { reloadOnChange } from "../../src/cli/reload.js";
import { gateway } from "../support/gateway.js";

const pem = (name: string) =>
  readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url), "utf8");
const fingerprint = (certificate: string) => new X509Certificate(certificate).fingerprint256;
const files = { "cert.pem": pem("cert"), "key.pem": pem("key") };
const first = fingerprint(files["cert.pem"]);
const second = fingerprint(pem("renewed-cert"));
const tls = "tls: { cert: cert.pem, key: key.pem }\n";

async function opened() {
  const it = await gateway(tls, files);
  const open = async () => {
    const session = connect(it.url, { ca: [pem("cert"), pem("renewed-cert")] });
    onTestFinished(() => session.destroy());
    await new Promise((resolve, reject) => {
      session.once("connect", resolve).once("error", reject);
    });
    return session;
  };
  return {
    ...it,
    open,
    async served() {
      return certificateOf(await open());
    },
    put(cert: string, key: string) {
      for (const [name, text] of Object.entries({ "cert.pem": cert, "key.pem": key })) {
        const path = join(it.cwd, name);
        writeFileSync(`${path}.new`, text);
        renameSync(`${path}.new`, path);
      }
    },
  };
}

const certificateOf = ({ socket }: ClientHttp2Session) =>
  (socket as TLSSocket).getPeerCertificate().fingerprint256;

const healthy = (session: ClientHttp2Session) =>
  new Promise((resolve, reject) => {
    const stream = session.request({ ":path": "/healthz" });
    stream.once("response", (headers) => resolve(headers[":status"])).once("error", reject);
    stream.resume();
  });

test("who connects after a reload gets the new certificate; open connections go on", async () => {
  const it = await opened();
  const before = await it.open();
  expect(certificateOf(before)).toBe(first);
  it.put(pem("renewed-cert"), pem("renewed-key"));
  expect(await it.served()).toBe(first);
  await it.reload();
  expect(await it.served()).toBe(second);
  expect(await healthy(before)).toBe(200);
  expect((await it.said("configuration reloaded")).fields.changed).toEqual(["tls (certificate)"]);
  it.lines.length = 0;
  await it.reload();
  expect((await it.said("configuration reloaded")).fields.changed).toEqual([]);
});

test("a renewed certificate is served as soon as a watched gateway sees it", async () => {
  const it = await opened();
  onTestFinished(await reloadOnChange(it.options));
  rmSync(join(it.cwd, "key.pem"));
  it.put(pem("renewed-cert"), pem("renewed-key"));
  const { fields } = await it.said("configuration reloaded");
  expect(fields).toMatchObject({ why: "cert.pem changed", changed: ["tls (certificate)"] });
  expect(await it.served()).toBe(second);
});

test("a certificate's file that is back as it was is looked at again where a signal was refused meanwhile", async () => {
  const it = await opened();
  onTestFinished(await reloadOnChange(it.options));
  rmSync(join(it.cwd, "key.pem"));
  await it.reload();
  await it.said("configuration not reloaded: the one before stays");
  it.put(files["cert.pem"], files["key.pem"]);
  expect((await it.said("configuration reloaded")).fields.changed).toEqual([]);
});

test("other authorities of clients hold for who connects from then on, also where the file is watched", async () => {
  const it = await gateway("tls: { cert: cert.pem, key: key.pem, client_ca: ca.pem }\n", {
    ...files,
    "ca.pem": pem("cert"),
  });
  const taken = async (name: string) => {
    const shown = { cert: pem(`${name}cert`), key: pem(`${name}key`) };
    const session = connect(it.url, { ca: pem("cert"), ...shown });
    onTestFinished(() => session.destroy());
    const refused = new Promise((resolve) => session.on("error", resolve).on("close", resolve));
    return Promise.race([healthy(session), refused.then(() => "refused")]).catch(() => "refused");
  };
  const put = (text: string) => {
    writeFileSync(join(it.cwd, "new.pem"), text);
    renameSync(join(it.cwd, "new.pem"), join(it.cwd, "ca.pem"));
  };
  expect([await taken(""), await taken("renewed-")]).toEqual([200, "refused"]);
  put(pem("renewed-cert"));
  expect(await taken("")).toBe(200);
  await it.reload();
  expect([await taken(""), await taken("renewed-")]).toEqual(["refused", 200]);
  it.lines.length = 0;
  onTestFinished(await reloadOnChange(it.options));
  put(pem("cert"));
  const { fields } = await it.said("configuration reloaded");
  expect(fields).toMatchObject({ why: "ca.pem changed", changed: ["tls (certificate)"] });
  expect([await taken(""), await taken("renewed-")]).toEqual([200, "refused"]);
});

test("a certificate that can't be used, or is another key's, is refused as a whole", async () => {
  const it = await opened();
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 })
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString();
  for (const [cert, key, why] of [
    ["no certificate", pem("renewed-key"), "tls.cert: the file cert.pem holds no certificate"],
    [pem("renewed-cert"), pem("key"), "tls.key: the key in key.pem is not the one of the"],
    [pem("renewed-cert"), rsa, "tls.key: the key in key.pem is not the one of the"],
  ] as const) {
    it.lines.length = 0;
    it.put(cert, key);
    await it.reload();
    const { fields } = await it.said("mistake in the new configuration");
    expect(fields.problem).toContain(why);
    await it.said("configuration not reloaded: the one before stays");
    expect(await it.served()).toBe(first);
  }
  it.put(pem("renewed-cert"), pem("renewed-key"));
  await it.reload();
  expect(await it.served()).toBe(second);
});

test("the log of it holds no key", async () => {
  const it = await opened();
  it.put(pem("renewed-cert"), pem("key"));
  await it.reload();
  it.put(pem("renewed-cert"), pem("renewed-key"));
  await it.reload();
  expect(JSON.stringify(it.lines)).not.toMatch(/PRIVATE|MIG|MHc/);
});
