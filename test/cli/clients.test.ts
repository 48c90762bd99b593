/** The way from a command to a Lintel, and what it may find there. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createHttp2Server, createSecureServer } from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { startLintel } from "../support/lintel.js";
import { tlsFront } from "../support/tls-front.js";
import { startAnswering } from "./answering.js";
import { runHere } from "./here.js";

const { lintel, at } = await startAnswering();
afterAll(() => lintel.close());

describe("what is no Lintel, and the way to one", () => {
  const pem = (name: string) => readFileSync(`test/fixtures/tls/${name}.pem`);
  const tls = { key: pem("key"), cert: pem("cert") };
  const speaksHttp1 = () => createServer((_request, response) => response.end("hello"));

  const answers = (status: number) => () =>
    createHttp2Server((_request, response) => response.writeHead(status).end("hello"));

  test.each<[string, string, () => Server, string]>([
    ["HTTP/1 alone", "http", speaksHttp1, "does not speak HTTP/2: is a Lintel there"],
    ["HTTP/2 without the path", "http", answers(404), "answers with HTTP 404: is a Lintel there?"],
    ["a proxy alone", "http", answers(502), "answers with HTTP 502: is a Lintel there?"],
    ["HTTP/2 without gRPC", "http", answers(200), "answers with something else than gRPC: is"],
    ["https where there is no TLS", "https", speaksHttp1, "does not speak TLS: is it http://?"],
    ["http where there is TLS", "http", () => createSecureServer(tls), "https://?"],
    ["a connection that is closed", "http", () => createTcpServer((s) => s.destroy()), "https://?"],
    ["a certificate of its own", "https", () => createSecureServer(tls), "NODE_EXTRA_CA_CERTS="],
  ])("%s is told in one line", async (_what, scheme, make, words) => {
    const server = make();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ended = await runHere(["models", "--server", url]);
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toMatch(/^lintel: .*\n$/);
    expect(ended.stderr).toContain(url);
    expect(ended.stderr).toContain(words);
  });

  const file = (name: string) => `test/fixtures/tls/${name}.pem`;

  /** A Lintel that speaks TLS to who has the certificate `renewed-cert`. */
  async function behindTls() {
    const { port } = await tlsFront(lintel.url);
    return (variables: object) => {
      for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
      onTestFinished(() => void vi.unstubAllEnvs());
      return runHere(["models", "--server", `https://localhost:${port}`]);
    };
  }

  test("certificates for a server stand in the environment", async () => {
    const ask = await behindTls();
    expect(await ask({ LINTEL_CA: file("cert") })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/wants a certificate: LINTEL_CERT and LINTEL_KEY name one/),
    });
    const shown = { LINTEL_CERT: file("renewed-cert"), LINTEL_KEY: file("renewed-key") };
    expect(await ask(shown)).toMatchObject({ code: 0, stderr: "" });
    expect(
      await ask({ LINTEL_CERT: file("named-cert"), LINTEL_KEY: file("named-key") }),
    ).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/closed the connection: it may not take the certificate in LI/),
    });
  });

  test("certificates that can't be used are named", async () => {
    const ask = await behindTls();
    const [cert, key] = [file("cert"), file("renewed-key")];
    for (const [variables, words] of [
      [{ LINTEL_CA: "/dev/null" }, "LINTEL_CA: the file /dev/null holds no certificate in PEM"],
      [{ LINTEL_CA: file("cert"), LINTEL_CERT: cert }, "LINTEL_CERT and LINTEL_KEY are of no use"],
      [{ LINTEL_KEY: key }, `LINTEL_KEY: the key in ${key} is not the one of the certificate`],
    ] as const) {
      expect(await ask(variables)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(words),
      });
    }
  });

  test("empty variables say nothing, and wrong ones are named", async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv("LINTEL_TOKEN", "");
    expect(await runHere(["models", ...at])).toMatchObject({ code: 0 });
    vi.stubEnv("LINTEL_TOKEN", "t\u00f6k\u2026n");
    const token = await runHere(["models", ...at]);
    expect(token).toMatchObject({ code: 2, stderr: expect.stringContaining("LINTEL_TOKEN has") });
    const option = await runHere(["models", ...at, "--token", "a\nb"]);
    expect(option).toMatchObject({ code: 2, stderr: expect.stringContaining("--token has") });
    vi.stubEnv("LINTEL_SERVER", "localhost");
    const server = await runHere(["models", "--token", "a"]);
    expect(server).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("LINTEL_SERVER must"),
    });
    vi.stubEnv("LINTEL_SERVER", "http://u:secret@127.0.0.1:9");
    const secret = await runHere(["models", "--token", "a"]);
    expect(secret.stderr).toContain("LINTEL_SERVER must carry no user and password");
    expect(secret.stderr).not.toContain("secret");
    vi.stubEnv("LINTEL_SERVER", "");
    const usual = await runHere(["models", "--token", "a"]);
    expect(usual.stderr).not.toContain("must be");
  });
});

test("a Lintel without models says so", async () => {
  const server = await startLintel([]);
  onTestFinished(() => server.close());
  const list = ["models", "--server", server.url];
  expect(await runHere(list)).toEqual({ code: 0, stdout: "", stderr: "there are no models\n" });
  expect(await runHere([...list, "--json"])).toEqual({ code: 0, stdout: "[]\n", stderr: "" });
});
