/** Addresses with the wrong scheme: `http://` where a server speaks TLS alone, and `https://` where it speaks none. */
import { createServer as createPlainServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer, type Server } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { AlertWebhook } from "../src/alerts/webhook.js";
import { askJson } from "../src/backends/http/ask.js";
import { Transport } from "../src/backends/http/transport.js";
import type { BudgetAlert } from "../src/core/limits/alerts.js";
import { type Logger, reasonOf, silent } from "../src/core/log.js";
import { errorBody } from "../src/doors/json/error.js";
import { webhookGuard } from "../src/guards/webhook.js";
import { s3Media } from "../src/media/s3.js";
import { IssuerKeys } from "../src/oidc/keys.js";
import { speaksTls } from "../src/server/failure.js";
import { never } from "./support/calls.js";
import { pem } from "./support/tls-front.js";
import { otlpTo, telemetryOf } from "./telemetry/support.js";

/** A server's port, until the test is over. */
async function listening(server: Server): Promise<number> {
  await new Promise<void>((listens) => server.listen(0, "127.0.0.1", listens));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A server that answers so to the first bytes of each connection. */
const saying = (answer: string) =>
  createServer((socket) => {
    socket.on("error", () => {}).once("data", () => socket.end(answer));
  });

const page = `<html>\r
<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>\r
<body>\r
<center><h1>400 Bad Request</h1></center>\r
<center>The plain HTTP request was sent to HTTPS port</center>\r
<hr><center>nginx/1.22.1</center>\r
</body>\r
</html>\r
`;

const asNginx = `HTTP/1.1 400 Bad Request\r
Server: nginx/1.22.1\r
Content-Type: text/html\r
Content-Length: ${page.length}\r
Connection: close\r
\r
${page}`;

const asGo = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/** What the log hears. */
function logging() {
  const said: string[] = [];
  const say = (fields: object) => void said.push(JSON.stringify(fields));
  return { said, log: { debug() {}, info: say, warn: say, error: say } satisfies Logger };
}

function transportTo(origin: string): Transport {
  const timeouts = { connect: 5000, first: 0, idle: 0 };
  const transport = new Transport({ origin, headers: {}, timeouts, connections: 1 });
  onTestFinished(() => transport.close());
  return transport;
}

/** What each is told, or tells the log, of a server at an address. */
const asked: Readonly<Record<string, (url: string) => Promise<string>>> = {
  async "a model server"(url) {
    const transport = transportTo(url);
    return askJson(transport, { method: "POST", path: "/", body: "{}", signal: never }).then(
      String,
      reasonOf,
    );
  },
  async "a guard's server"(url) {
    const asking = { headers: {}, pass_user: "never", timeout: 60_000 } as const;
    const guard = webhookGuard({ name: "g", url, ...asking });
    onTestFinished(() => guard.close?.());
    const about = { id: "1", model: "m", caller: "me", side: "prompt", signal: never } as const;
    const texts = [{ field: "messages[0].content", role: "user", text: "hi" }];
    return Promise.resolve(guard.check(texts, about)).then(String, reasonOf);
  },
  async "a webhook of alerts"(url) {
    const { said, log } = logging();
    const settings = { url: `${url}/services/secret`, headers: {}, timeout: 60_000 };
    const webhook = new AlertWebhook(settings, log, undefined, []);
    const alert: BudgetAlert = {
      ...{ scope: "caller", name: "ann", period: "month", threshold: 0.8, refused: false },
      ...{ amount: 50, used: 40, endsAt: undefined },
    };
    await new Promise<void>((over) => {
      webhook.send({ alert, begin: () => true, told: over, lost: over });
    });
    await webhook.close();
    expect(said.join()).not.toContain("secret");
    return said.join();
  },
  "a bucket": (endpoint) =>
    s3Media({
      ...{ bucket: "pictures", prefix: "", endpoint, region: "us-east-1", pathStyle: true },
      credentials: { accessKeyId: "a", secretAccessKey: "b" },
      address: { by: "presigned" },
      ...{ ttlMs: 3_600_000, maxBytes: 1, log: silent },
    }).then(String, reasonOf),
  async "an issuer"(issuer) {
    const { said, log } = logging();
    const keys = new IssuerKeys(
      {
        ...{ name: "corp", issuer, audience: ["a"], algorithms: ["RS256"] },
        ...{ clockToleranceMs: 0, refreshMs: 3_600_000, claims: { id: "sub", limits: {} } },
        rules: [],
        teams: [],
      },
      log,
    );
    onTestFinished(() => keys.close());
    await keys.verify("eyJhbGciOiJSUzI1NiJ9.e30.AA", {}).catch(() => {});
    return said.join();
  },
  async "a collector"(url) {
    const { said, log } = logging();
    const telemetry = await telemetryOf({ otlp: otlpTo(url, { traces: false }) }, log);
    await telemetry.close();
    return said.join();
  },
};

const kinds = Object.entries(asked);

describe("of http:// where TLS alone is spoken", () => {
  // A collector is asked for longer than an end waits: `telemetry/delivery.test.ts` has that.
  const ending = kinds.filter(([what]) => what !== "a collector");
  test.each(ending)("%s that closes the connection is told as what may be", async (_, ask) => {
    const port = await listening(createSecureServer({ cert: pem("cert"), key: pem("key") }));
    expect(await ask(`http://127.0.0.1:${port}`)).toContain(
      "; if TLS is spoken there, its address begins with https://",
    );
  });

  const answers = { nginx: asNginx, Go: asGo };
  const both = Object.entries(answers);
  const saying400 = kinds.flatMap(([what, ask]) =>
    both.map(([server, answer]) => [what, server, ask, answer] as const),
  );
  test.each(saying400)("%s that says so as %s does is told", async (_, __, ask, answer) => {
    const port = await listening(saying(answer));
    expect(await ask(`http://127.0.0.1:${port}`)).toContain(
      "TLS is spoken there: its address begins with https://",
    );
  });
});

test.each(kinds)("of https:// to %s that speaks no TLS, that is told", async (_, ask) => {
  const port = await listening(createPlainServer());
  expect(await ask(`https://127.0.0.1:${port}`)).toContain("; no TLS is spoken there");
});

const inJson = JSON.stringify(errorBody(speaksTls()));

test.each([
  ["nginx", asNginx],
  ["Go", asGo],
  ["another Lintel", `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n${inJson}`],
])(
  "no caller is blamed, and others are asked, where a model server wants TLS: %s",
  async (_, answer) => {
    const port = await listening(saying(answer));
    const transport = transportTo(`http://127.0.0.1:${port}`);
    const sent = askJson(transport, { method: "GET", path: "/", signal: never });
    await expect(sent).rejects.toMatchObject({ code: "upstream_failed", retry: "elsewhere" });
  },
);

test("a server that ends a connection which answered before is not taken for one that wants TLS", async () => {
  let asked = 0;
  const port = await listening(
    createPlainServer((request, response) => {
      if (asked++ === 0) response.end("{}");
      else request.socket.destroy();
    }),
  );
  const transport = transportTo(`http://127.0.0.1:${port}`);
  const ask = () => askJson(transport, { method: "GET", path: "/", signal: never });
  await ask();
  const reason = reasonOf(await ask().catch((error: unknown) => error));
  expect(reason).toContain("the model server closed the connection");
  expect(reason).not.toContain("TLS");
});
