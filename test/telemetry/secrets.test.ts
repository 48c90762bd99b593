import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeAll, expect, test } from "vitest";
import { createToken } from "../../src/core/tokens.js";
import { Upstream } from "../backends/upstream.js";
import { build, folder, type Lintel, run, start } from "../cli/lintel.js";

beforeAll(build);

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Nothing that has a shape by which it could be told from other text. */
const secrets = {
  apiKey: "Zq8mRt2LwXv5",
  header: "Hd7pKe4NsJu9",
  node: "Nd3vBx6TyQa1",
  rest: "Rs5gMf8WcPz2",
  redis: "Rd2kLh9YbVe4",
  postgres: "Pg6tDn1XuSw7",
  s3: "Sx4jQr7GmEo8",
  otlp: "Ot9cFz3HvLk5",
  caller: "Cl1wTp6BiMy3",
  unknown: "Un8xGs2DqRf6",
  jwt: "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwOi8vMTI3LjAuMC4xOjkifQ.Jw5nVt8KaCe2",
};

/** A port that nobody listens at. */
async function deadPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("no key is in the log, in an error, in metrics or in usage, whatever a server says", {
  timeout: 60_000,
}, async () => {
  // It tells everybody the key that it was asked with.
  const upstream = await Upstream.start((exchange) => {
    const { path, headers } = exchange.request;
    if (path === "/v1/models") {
      return exchange.sendJson(200, { object: "list", data: [{ id: "tells", object: "model" }] });
    }
    const said = `bad key ${secrets.apiKey} in ${JSON.stringify(headers)}`;
    const status = exchange.json().messages[0].content === "401" ? 401 : 400;
    return exchange.sendJson(status, { error: { message: said } });
  });
  closing.push(() => upstream.close());
  // A bucket that is there, as far as it is asked for.
  const bucket = createServer((_, response) => response.end());
  await new Promise<void>((resolve) => bucket.listen(0, "127.0.0.1", resolve));
  closing.push(() => bucket.close().closeAllConnections());
  const { port: store } = bucket.address() as AddressInfo;
  const dead = await deadPort();
  const hash = `sha256:${createHash("sha256").update(secrets.caller).digest("hex")}`;
  const cwd = folder({
    "lintel.yaml": `listen: 127.0.0.1:0
log: { level: trace }
auth:
  mode: token
  tokens: [{ name: alice, hash: "${hash}" }]
  oidc: [{ name: corp, issuer: "http://127.0.0.1:${dead}", audience: lintel }]
state:
  directory: state
  database: "postgres://user:${secrets.postgres}@127.0.0.1:${dead}/lintel"
  redis: { url: "redis://:${secrets.redis}@127.0.0.1:${dead}" }
limits: { caller: { requests_per_minute: 100 } }
backends:
  - { type: openai, name: tells, url: "${upstream.url}/v1", api_key: ${secrets.apiKey}, headers: { x-key: ${secrets.header} } }
  - { type: node, name: gone, address: "http://127.0.0.1:${dead}", token: ${secrets.node} }
  - { type: rest, name: away, url: "http://127.0.0.1:${dead}", token: ${secrets.rest}, models: [{ id: away, task: chat }] }
media:
  store: s3
  s3: { bucket: b, endpoint: "http://127.0.0.1:${store}", region: us-east-1, access_key_id: id, secret_access_key: ${secrets.s3} }
telemetry:
  prometheus: true
  otlp: { endpoint: "http://127.0.0.1:${dead}", headers: { authorization: ${secrets.otlp} }, interval: 200ms }
`,
  });
  const lintel: Lintel = start([], cwd);
  closing.push(async () => {
    if (lintel.running) lintel.kill("SIGKILL");
    await lintel.ended;
  });
  const [, base = ""] = await lintel.until(/ on (http:\S+)\n/);
  const answers: string[] = [];
  const ask = async (path: string, token: string, body: object) => {
    const response = await fetch(base + path, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    answers.push(
      `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`,
    );
    return response.status;
  };
  const says = (content: string) => ({ model: "tells", messages: [{ role: "user", content }] });
  expect(await ask("/llm", secrets.caller, says("400"))).toBe(400);
  expect(await ask("/v1/chat/completions", secrets.caller, says("401"))).toBe(502);
  expect(await ask("/llm", secrets.caller, { ...says("x"), model: "away" })).toBe(502);
  expect(await ask("/llm", secrets.caller, { ...says("x"), model: "nope" })).toBeGreaterThan(400);
  expect([401, 503]).toContain(await ask("/llm", secrets.unknown, says("x")));
  expect([401, 503]).toContain(await ask("/llm", secrets.jwt, says("x")));
  expect(await ask("/llm", secrets.caller, { nonsense: secrets.caller })).toBe(422);
  answers.push(await (await fetch(`${base}/metrics`)).text());
  const top = await run(["top", "--json"], cwd);
  expect(top.code).toBe(0);
  answers.push(top.stdout, top.stderr);
  lintel.kill("SIGTERM");
  await lintel.ended;
  // The database was away: what was used lies on the disk.
  const kept = filesIn(join(cwd, "state")).map((file) => readFileSync(file, "latin1"));
  expect(kept.join()).toContain("alice");
  const lines = lintel.stderr
    .trimEnd()
    .split("\n")
    // A library may have something to say, too.
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
  expect(lines.filter(({ msg }) => msg === "call")).toHaveLength(7);
  expect(lines.length).toBeGreaterThan(10);
  const all = {
    log: lintel.stderr,
    out: lintel.stdout,
    answers: answers.join("\n"),
    kept: kept.join(),
  };
  const leaks = Object.entries(all).flatMap(([where, text]) =>
    Object.entries(secrets).flatMap(([which, secret]) => {
      const at = text.indexOf(secret);
      return at < 0 ? [] : [`${which} in ${where}: ${text.slice(Math.max(0, at - 200), at + 40)}`];
    }),
  );
  expect(leaks).toEqual([]);
});

test("a token that somebody put in a wrong place is not in the log", async () => {
  const upstream = await Upstream.start((exchange) => exchange.sendJson(404, {}));
  closing.push(() => upstream.close());
  const cwd = folder({
    "lintel.yaml": `listen: 127.0.0.1:0
log: { content: true }
backends: [{ type: openai, name: a, url: "${upstream.url}", models: [m] }]
`,
  });
  const lintel: Lintel = start([], cwd);
  closing.push(async () => {
    if (lintel.running) lintel.kill("SIGKILL");
    await lintel.ended;
  });
  const [, base = ""] = await lintel.until(/ on (http:\S+)\n/);
  const { jwt } = secrets;
  const token = createToken();
  const ask = async (body: object, more: object) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const init = { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) };
    await (await fetch(`${base}/v1/chat/completions`, init)).text();
  };
  const messages = [{ role: "user", content: `curl -H "Authorization: Bearer ${token}"` }];
  await ask({ model: token, messages }, {});
  await ask({ model: "m", messages, user: token }, { "x-request-id": token });
  await ask({ model: jwt, messages, user: jwt }, {});
  await fetch(`${base}/${token}?key=${jwt}`);
  lintel.kill("SIGTERM");
  await lintel.ended;
  const told = lintel.stderr.split("\n").filter((line) => line.includes('"msg":"call"'));
  expect(told).toHaveLength(3);
  for (const line of told) {
    expect(line).toContain("[token]");
    JSON.parse(line);
  }
  for (const secret of [token, jwt]) expect(lintel.stderr).not.toContain(secret);
});

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
