/** Servers behind a real proxy, which alone knows their names. */
import { readFileSync } from "node:fs";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer, type LookupFunction } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Socket } from "../../src/backends/comfyui/socket.js";
import { fetchImage } from "../../src/backends/http/fetch-image.js";
import { Guard } from "../../src/backends/http/guard.js";
import { agentTo } from "../../src/backends/http/pools.js";
import { Proxies } from "../../src/backends/http/proxy.js";
import { Transport } from "../../src/backends/http/transport.js";
import { type Logger, reasonOf, silent } from "../../src/core/log.js";
import { IssuerKeys } from "../../src/oidc/keys.js";
import { Issuer } from "../oidc/issuer.js";
import { never } from "../support/calls.js";
import { type Mood, TestProxy } from "../support/proxy.js";
import { png } from "../support/scripted.js";
import { Comfy } from "./comfyui-server.js";
import { serve } from "./serve.js";
import type { Script } from "./upstream.js";

const file = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));
const tls = { cert: file("cert.pem"), key: file("key.pem") };

const credentials = "me:hunter22";
const basic = `Basic ${btoa(credentials)}`;

/** The proxies of an environment that has this one. */
function through({ port }: TestProxy, scheme = "http", user = ""): Proxies {
  const address = `${scheme}://${user}127.0.0.1:${port}`;
  return new Proxies({ HTTP_PROXY: address, HTTPS_PROXY: address, NO_PROXY: "direct.test" });
}

function transportTo(origin: string, proxies: Proxies, timeouts = {}, connections = 1): Transport {
  const transport = new Transport({
    origin,
    headers: { authorization: "Bearer key" },
    timeouts: { connect: 5000, first: 0, idle: 0, ...timeouts },
    connections,
    proxies,
  });
  onTestFinished(() => transport.close());
  return transport;
}

/** A server with TLS that streams what it was asked for, in pieces; its certificate is nobody's whom we know. */
async function secureServer(): Promise<number> {
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  onTestFinished(() => void vi.unstubAllEnvs());
  const server = createSecureServer(tls, (request, response) => {
    response.write(`${request.method} ${request.url} `);
    setImmediate(() => response.end(`${request.headers.host} ${request.headers.authorization}`));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

const portOf = (url: string) => new URL(url).port;

async function get(transport: Transport, path = "/a?b=c"): Promise<string> {
  const answer = await transport.send({ method: "GET", path, signal: never });
  return answer.text(1000);
}

describe.each(["http", "https"])("a proxy that is spoken to with %s", (scheme) => {
  const started = () => TestProxy.start(scheme === "https" ? tls : undefined);

  it("opens a tunnel to an https: target, which is kept", async () => {
    const [port, proxy] = [await secureServer(), await started()];
    const transport = transportTo(
      `https://model.test:${port}`,
      through(proxy, scheme, `${credentials}@`),
    );
    const answer = `GET /a?b=c model.test:${port} Bearer key`;
    expect([await get(transport), await get(transport)]).toEqual([answer, answer]);
    expect(proxy.asked).toEqual([
      { what: `CONNECT model.test:${port}`, host: `model.test:${port}`, authorization: basic },
    ]);
  });

  it("is handed what is for an http: target", async () => {
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    onTestFinished(() => void vi.unstubAllEnvs());
    const proxy = await started();
    const server = await serve(async (exchange) => {
      await exchange.stream({ a: 1 });
      await exchange.events({ b: 2 });
      await exchange.end();
    });
    const host = `model.test:${portOf(server.url)}`;
    const transport = transportTo(`http://${host}`, through(proxy, scheme, `${credentials}@`));
    expect(await get(transport)).toBe('data: {"a":1}\n\ndata: {"b":2}\n\n');
    const body = "{}";
    await transport
      .send({ method: "POST", path: "/c", body, signal: never })
      .then((answer) => answer.text(1000));
    expect(proxy.asked).toEqual([
      { what: `GET http://${host}/a?b=c`, host, authorization: basic },
      { what: `POST http://${host}/c`, host, authorization: basic },
    ]);
    expect(server.requests[0]?.headers).toMatchObject({ host, authorization: "Bearer key" });
    expect(server.requests[0]?.headers).not.toHaveProperty("proxy-authorization");
    expect(server.requests[1]?.body.toString()).toBe(body);
    expect(proxy.open.size).toBe(1);
  });
});

it("is not asked for this machine", async () => {
  const proxy = await TestProxy.start();
  const server = await serve((exchange) => exchange.sendJson(200, { ok: 1 }));
  expect(await get(transportTo(server.url, through(proxy)))).toBe('{"ok":1}');
  expect(proxy.asked).toEqual([]);
});

it("gets no more connections than there may be", async () => {
  const [port, proxy] = [await secureServer(), await TestProxy.start()];
  const transport = transportTo(`https://model.test:${port}`, through(proxy), {}, 2);
  await Promise.all(Array.from({ length: 6 }, () => get(transport)));
  expect(proxy.asked).toHaveLength(2);
});

describe("a proxy that does not do its part is an unreachable server, and the log's reason", () => {
  /** What becomes of a request. */
  async function failure(scheme: string, mood: Mood, timeouts = {}) {
    const proxy = await TestProxy.start();
    proxy.mood = mood;
    const proxies = through(proxy, "http", `${credentials}@`);
    const error = await get(transportTo(`${scheme}://model.test:9`, proxies, timeouts)).catch(
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ code: "upstream_unreachable", retry: "anywhere" });
    expect(error.message).not.toContain("proxy");
    const reason = reasonOf(error);
    expect(`${reason} ${error.cause.stack} ${JSON.stringify(error.cause)}`).not.toMatch(
      /hunter22|me:|bWU6/,
    );
    return reason.replace(String(proxy.port), "PORT");
  }
  const about = (scheme: string) =>
    `the model server can't be reached: the proxy 127.0.0.1:PORT (${scheme}_PROXY)`;

  it.each<Mood>([407, 502, 403])("status %s", async (status) => {
    expect(await failure("https", status)).toBe(
      `${about("HTTPS")} answered CONNECT with status ${status}`,
    );
  });

  it("wants a user for http:", async () => {
    expect(await failure("http", 407)).toBe(`${about("HTTP")} answered with status 407`);
  });

  it("hangs", async () => {
    expect(await failure("https", "hangs", { connect: 50 })).toBe(
      `${about("HTTPS")} opened no connection to the model server within 50 ms`,
    );
  });

  it("leads to somebody who says nothing", async () => {
    const [proxy, server] = [await TestProxy.start(), createServer((socket) => socket.resume())];
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const transport = transportTo(`https://model.test:${port}`, through(proxy), { connect: 50 });
    await expect(get(transport)).rejects.toMatchObject({ code: "upstream_unreachable" });
    await vi.waitFor(() => expect(proxy.open.size).toBe(0));
  });

  it("breaks off", async () => {
    expect(await failure("https", "breaks")).toBe(`${about("HTTPS")} failed: socket hang up`);
  });

  it.each(["http", "https"])("is not there, for %s", async (scheme) => {
    const proxies = new Proxies({
      HTTP_PROXY: "http://127.0.0.1:1",
      HTTPS_PROXY: "http://127.0.0.1:1",
    });
    const error = await get(transportTo(`${scheme}://model.test:9`, proxies)).catch((e) => e);
    expect(error.code).toBe("upstream_unreachable");
    expect(reasonOf(error)).toMatch(/the proxy 127\.0\.0\.1:1 \(.*\) failed: connect ECONNREFUSED/);
  });

  it("leads to somebody whose certificate is of nobody known", async () => {
    const port = await secureServer();
    vi.unstubAllEnvs();
    const proxy = await TestProxy.start();
    const error = await get(transportTo(`https://model.test:${port}`, through(proxy))).catch(
      (e) => e,
    );
    expect(error.code).toBe("upstream_unreachable");
    expect(reasonOf(error)).toMatch(/\(HTTPS_PROXY\) led to no TLS connection: self-signed/);
  });
});

it("a server's own refusals behind a proxy are its own", async () => {
  const proxy = await TestProxy.start();
  const server = await serve((exchange) => exchange.sendJson(403, { error: "no" }));
  const transport = transportTo(`http://model.test:${portOf(server.url)}`, through(proxy));
  const answer = await transport.send({ method: "GET", path: "/", signal: never });
  expect(answer.status).toBe(403);
});

it("a tunnel that comes about after the transport was closed is closed", async () => {
  const [port, proxy] = [await secureServer(), await TestProxy.start()];
  const transport = transportTo(`https://model.test:${port}`, through(proxy));
  const asked = get(transport).catch((error) => error.code);
  await transport.close();
  expect(await asked).toBe("shutting_down");
  await vi.waitFor(() => expect(proxy.open.size).toBe(0));
});

describe("an image at an address", () => {
  const serves: Script = (exchange) => exchange.send(200, { "content-type": "image/png" }, png(1));

  function guardThrough(proxies: Proxies, own: string, lookup: LookupFunction): Guard {
    const guard = new Guard({ own: [own], allow: ["cdn.test", "direct.test"], lookup, proxies });
    onTestFinished(() => guard.close());
    return guard;
  }
  const unknown: LookupFunction = (hostname, _, callback) =>
    callback(Object.assign(new Error(`no ${hostname}`), { code: "ENOTFOUND" }), "");

  it("of the server itself comes through the proxy", async () => {
    const [proxy, server] = [await TestProxy.start(), await serve(serves)];
    const base = `http://model.test:${portOf(server.url)}`;
    const guard = guardThrough(through(proxy), base, unknown);
    expect(await fetchImage("/a.png", { guard, base }, never)).toHaveLength(png(1).length);
    expect(proxy.asked).toMatchObject([{ what: `GET ${base}/a.png` }]);
  });

  it("of an allowed name is asked for where this machine does not know the name", async () => {
    const proxy = await TestProxy.start();
    proxy.mood = 403;
    const guard = guardThrough(through(proxy), "http://model.test", unknown);
    const fetching = fetchImage("https://cdn.test/a", { guard, base: "http://model.test" }, never);
    await expect(fetching).rejects.toMatchObject({ code: "upstream_failed" });
    expect(proxy.asked).toMatchObject([{ what: "CONNECT cdn.test:443" }]);
  });

  it.each([
    ["cdn.test", "behind it"],
    ["direct.test", "without it"],
  ])("of a name that is known here to be private is not: %s, %s", async (host) => {
    const proxy = await TestProxy.start();
    const inside: LookupFunction = (_, __, callback) =>
      callback(null, [{ address: "10.0.0.1", family: 4 }]);
    const guard = guardThrough(through(proxy), "http://model.test", inside);
    const fetching = fetchImage(`https://${host}/a`, { guard, base: "http://model.test" }, never);
    await expect(fetching).rejects.toThrow("may not be fetched");
    expect(proxy.asked).toEqual([]);
  });
});

it.each(["http", "https"])(
  "undici's fetch goes through it, as providers have it: %s",
  async (scheme) => {
    const proxy = await TestProxy.start();
    const server = await serve((exchange) => exchange.sendJson(200, { ok: exchange.json() }));
    const port = scheme === "https" ? await secureServer() : portOf(server.url);
    const dispatcher = agentTo({ connect: { timeout: 5000 } }, through(proxy));
    onTestFinished(() => dispatcher.destroy());
    const { fetch } = await import("undici");
    const url = `${scheme}://model.test:${port}/v1`;
    const init = { method: "POST", body: '{"a":1}', headers: { authorization: "Bearer key" } };
    const answer = await fetch(url, { ...init, dispatcher });
    expect(await answer.text()).toBe(
      scheme === "https" ? `POST /v1 model.test:${port} Bearer key` : '{"ok":{"a":1}}',
    );
    expect(proxy.asked.map(({ what }) => what)).toEqual([
      scheme === "https" ? `CONNECT model.test:${port}` : `POST ${url}`,
    ]);
  },
);

it("an issuer's keys come through it", async () => {
  const [proxy, issuer] = [await TestProxy.start(), new Issuer()];
  await issuer.start();
  onTestFinished(() => issuer.stop());
  issuer.url = issuer.url.replace("127.0.0.1", "issuer.test");
  const settings = { name: "corp", issuer: issuer.url, refreshMs: 60_000 };
  const keys = new IssuerKeys(settings as never, silent, 0, through(proxy));
  onTestFinished(() => keys.close());
  await keys.verify(await issuer.sign(), {});
  expect(proxy.asked.map(({ what }) => what)).toEqual([
    `GET ${issuer.url}/.well-known/openid-configuration`,
    `GET ${issuer.url}/keys`,
  ]);
  const said: (string | undefined)[] = [];
  const log = {
    ...silent,
    warn: ({ error }: { error?: unknown }) => said.push(String(error)),
  } as Logger;
  proxy.mood = 407;
  const away = new IssuerKeys(settings as never, log, 0, through(proxy));
  onTestFinished(() => away.close());
  await expect(away.verify(await issuer.sign(), {})).rejects.toMatchObject({ code: "unavailable" });
  expect(said[0]).toMatch(/the proxy .* \(HTTP_PROXY\) answered with status 407/);
});

it("ComfyUI's websocket goes through a tunnel, and is dead where the proxy opens none", async () => {
  const [proxy, comfy] = [await TestProxy.start(), await Comfy.start()];
  onTestFinished(() => comfy.close());
  const host = `model.test:${portOf(comfy.url)}`;
  const url = `ws://${host}/ws?clientId=a`;
  const options = { url, headers: {}, timeout: 5000, proxies: through(proxy) };
  const socket = await Socket.open(options);
  onTestFinished(() => socket.close());
  expect(socket.alive).toBe(true);
  expect(comfy.socketHeaders.host).toBe(host);
  expect(proxy.asked).toMatchObject([{ what: `CONNECT ${host}` }]);
  proxy.mood = 403;
  expect((await Socket.open(options)).alive).toBe(false);
});
