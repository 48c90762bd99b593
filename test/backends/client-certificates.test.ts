/** Model servers that want a certificate of the gateway's, and those of a company's own authority. */
import { X509Certificate } from "node:crypto";
import { copyFileSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Socket } from "../../src/backends/comfyui/socket.js";
import { ClientTls } from "../../src/backends/http/client-tls.js";
import { fetchImage } from "../../src/backends/http/fetch-image.js";
import { Guard } from "../../src/backends/http/guard.js";
import { Proxies } from "../../src/backends/http/proxy.js";
import { withRemedy } from "../../src/backends/http/tls-remedy.js";
import { Transport } from "../../src/backends/http/transport.js";
import type { Backend } from "../../src/core/backend.js";
import { reasonOf, silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { TestProxy } from "../support/proxy.js";
import { png } from "../support/scripted.js";
import { pem, pemFile, shown, type TlsFront, tlsFront } from "../support/tls-front.js";
import { run as draws } from "./comfyui-calls.js";
import { Comfy } from "./comfyui-server.js";
import { backendFor as comfyuiFor } from "./comfyui-subject.js";
import { chatting, connectTo, serve as node, piece } from "./node-peer.js";
import { chatRequest, backendFor as openaiFor, streamOf } from "./openai-subject.js";
import { restAt } from "./rest-subject.js";
import { run as paints } from "./sdapi-calls.js";
import { Webui } from "./sdapi-server.js";
import { backendFor as sdapiFor } from "./sdapi-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Exchange } from "./upstream.js";

const fingerprint = (name: string) => new X509Certificate(pem(name)).fingerprint256;
const ours = fingerprint("renewed-cert");

/** What a streamed chat says. */
async function chat({ handlers }: Backend): Promise<string> {
  let text = "";
  for await (const messages of handlers.chat?.(callOf("chat", chatRequest())) ?? []) {
    for (const { choices } of messages) text += choices[0]?.delta?.content ?? "";
  }
  return text;
}

const says = streamOf([{ content: "he" }, { content: "llo" }]);

/** How many images the events of a request for one bring. */
const drawn = (events: readonly { readonly case?: string | undefined }[]) =>
  `${events.filter((event) => event.case === "image").length} image`;

/** Each kind: what is behind the front, how it is reached there, and what a call brings. */
const kinds: Readonly<
  Record<
    string,
    {
      behind(): Promise<string>;
      at(port: number, config: object): Backend;
      ask(backend: Backend): Promise<string>;
      readonly answer: string;
    }
  >
> = {
  openai: {
    behind: async () => (await serve(says)).url,
    at: (port, config) => openaiFor(`https://localhost:${port}`, config),
    ask: chat,
    answer: "hello",
  },
  rest: {
    behind: async () => (await serve(says)).url,
    at: (port, config) => restAt(`https://localhost:${port}`, config),
    ask: chat,
    answer: "hello",
  },
  node: {
    async behind() {
      const peer = await node(
        chatting(async function* () {
          yield piece("hello", "stop");
        }),
      );
      return peer.address;
    },
    at: (port, config) => connectTo(`https://localhost:${port}`, config),
    ask: chat,
    answer: "hello",
  },
  sdapi: {
    async behind() {
      const webui = await Webui.start("a1111");
      onTestFinished(() => webui.upstream.close());
      return webui.upstream.url;
    },
    at: (port, config) => sdapiFor(`https://localhost:${port}`, config),
    ask: async (backend) => drawn(await paints(backend)),
    answer: "1 image",
  },
  comfyui: {
    async behind() {
      const comfy = await Comfy.start();
      onTestFinished(() => comfy.close());
      return comfy.url;
    },
    at: (port, config) => comfyuiFor(`https://localhost:${port}`, config),
    ask: async (backend) => drawn(await draws(backend)),
    answer: "1 image",
  },
};

describe.each(Object.entries(kinds))(
  "a backend of the kind %s",
  (_, { behind, at, ask, answer }) => {
    it("shows its certificate on every connection, and trusts its server's authority", async () => {
      const front = await tlsFront(await behind());
      const backend = opened(at(front.port, { tls: shown }));
      await backend.ready?.("", never);
      expect(await ask(backend)).toBe(answer);
      expect(new Set(front.certificates)).toEqual(new Set([ours]));
      expect(front.refused).toEqual([]);
    });

    it("is refused without one, and trusts nobody that Node does not know", async () => {
      const front = await tlsFront(await behind());
      const failure = async (tls: object) => {
        const backend = opened(at(front.port, { tls }));
        const asked = Promise.resolve(backend.ready?.("", never)).then(() => ask(backend));
        return asked.catch(({ name }: Error) => name);
      };
      expect(await failure({ ca: shown.ca })).toBe("LintelError");
      expect(front.certificates).toEqual([]);
      expect(front.refused[0]).toBe("ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE");
      expect(await failure({ cert: shown.cert, key: shown.key })).toBe("LintelError");
    });
  },
);

function transportTo(port: number, tls: ClientTls, more: object = {}, host = "localhost") {
  const origin = `https://${host}:${port}`;
  const timeouts = { connect: 5000, first: 0, idle: 0 };
  const transport = new Transport({ origin, headers: {}, timeouts, connections: 1, tls, ...more });
  onTestFinished(() => transport.close());
  return async () => {
    const answer = await transport.send({ method: "GET", path: "/", signal: never });
    answer.drain();
    return answer.status;
  };
}

const tlsOf = (files: object) => new ClientTls(files, "test", silent);
const fine = () => serve((exchange) => exchange.sendJson(200, {}));

it("tells how a server of an unknown authority is trusted, by its entry", async () => {
  const { port } = await tlsFront((await fine()).url);
  const { ca: _, ...files } = shown;
  const thrown = await transportTo(port, tlsOf(files))().catch((error) => error);
  expect(thrown).toMatchObject({ code: "upstream_unreachable" });
  expect(reasonOf(thrown)).toMatch(/self-signed.*; the backend's tls\.ca trusts the authority/);
});

describe("a server that refuses is told with what to do about it", () => {
  it.each([
    ["wants a certificate", { ca: shown.ca }, {}, /; the server wants a certificate, which the ba/],
    [
      "takes another one, and says nothing",
      { ...shown, cert: pemFile("named-cert"), key: pemFile("named-key") },
      {},
      /the server ended the connection without a word.*; it may not take the certificate of the backend's tls\.cert$/,
    ],
    [
      "has another name",
      { ...shown, server_name: "gpu.test" },
      {},
      /; the backend's tls\.server_name is the name/,
    ],
    ["speaks no HTTP/2", shown, { ALPNProtocols: ["http/1.1"] }, /; no HTTP\/2 is spoken there$/],
  ] as const)("%s", async (what, tls, options, reason) => {
    const { port } = await tlsFront((await fine()).url, options);
    const asked = chat(opened(connectTo(`https://localhost:${port}`, { tls })));
    expect(reasonOf(await asked.catch((error) => error))).toMatch(reason);
    if (what === "speaks no HTTP/2") return;
    const thrown = await transportTo(port, tlsOf(tls))().catch((error) => error);
    expect(reasonOf(thrown)).toMatch(reason);
  });

  it.each([
    ["CERT_HAS_EXPIRED", "it is the server's, who needs a new one"],
    ["ERR_SSL_TLSV1_ALERT_UNKNOWN_CA", "the server does not take that of the backend's tls.cert"],
    ["ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE", "the server does not take that of the backend's"],
    ["ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE", "the server may want another certificate"],
    ["ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE", "the server may want another certificate"],
  ])("%s", (code, remedy) => {
    expect(reasonOf(withRemedy(Object.assign(new Error("words"), { code })))).toContain(
      `; ${remedy}`,
    );
  });

  it("but not where something came first", async () => {
    let breakOff = () => {};
    const half = async (exchange: Exchange) => {
      await exchange.head(200, { "content-type": "text/event-stream" });
      await exchange.chunk('data: {"choices":[{"index":0,"delta":{"content":"he"}}]}\n\n');
      breakOff = () => exchange.destroy();
      await exchange.gone;
    };
    const { port } = await tlsFront((await serve(half)).url);
    const { handlers } = opened(openaiFor(`https://localhost:${port}`, { tls: shown }));
    const read = async () => {
      for await (const _ of handlers.chat?.(callOf("chat", chatRequest())) ?? []) breakOff();
    };
    const thrown = await read().catch((error) => error);
    expect(thrown).toMatchObject({ code: "upstream_failed" });
    expect(reasonOf(thrown)).not.toContain("tls.cert");
  });
});

it("is the same through a proxy's tunnel, also for ComfyUI's websocket", async () => {
  const [proxy, comfy] = [await TestProxy.start(), await Comfy.start()];
  onTestFinished(() => comfy.close());
  const [one, other] = [await tlsFront((await fine()).url), await tlsFront(comfy.url)];
  const proxies = new Proxies({ HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` });
  const tls = tlsOf({ ...shown, server_name: "localhost" });
  expect(await transportTo(one.port, tls, { proxies }, "model.test")()).toBe(200);
  const url = `wss://model.test:${other.port}/ws?clientId=a`;
  const socket = await Socket.open({ url, headers: {}, timeout: 5000, proxies, tls });
  onTestFinished(() => socket.close());
  expect(socket.alive).toBe(true);
  expect([...one.certificates, ...other.certificates]).toEqual([ours, ours]);
  expect(proxy.asked).toHaveLength(2);
});

it("expects the name that its entry says, whatever the address", async () => {
  const named = { cert: pem("named-cert"), key: pem("named-key") };
  const behind = await node(
    chatting(async function* () {
      yield piece("hello", "stop");
    }),
  );
  const ca = pemFile("named-cert");
  const [http, grpc] = [
    await tlsFront((await fine()).url, named),
    await tlsFront(behind.address, named),
  ];
  const files = { ...shown, ca };
  const failed = transportTo(http.port, tlsOf(files), {}, "127.0.0.1")();
  await expect(failed).rejects.toMatchObject({ code: "upstream_unreachable" });
  const tls = { ...files, server_name: "localhost" };
  expect(await transportTo(http.port, tlsOf(tls), {}, "127.0.0.1")()).toBe(200);
  const peer = connectTo(`https://127.0.0.1:${grpc.port}`, { tls });
  expect(await chat(peer)).toBe("hello");
});

it.each(["issuing-cert", "issued-cert"])(
  "trusts %s by itself, which no file says who signed",
  async (ca) => {
    const issued = { cert: pem("issued-cert"), key: pem("issued-key") };
    const { port } = await tlsFront((await fine()).url, issued);
    expect(await transportTo(port, tlsOf({ ...shown, ca: pemFile(ca) }))()).toBe(200);
  },
);

it("shows its certificate to the server itself alone, where images are fetched", async () => {
  const image = await serve((exchange) =>
    exchange.send(200, { "content-type": "image/png" }, png(1)),
  );
  const fronts = [await tlsFront(image.url), await tlsFront(image.url)];
  const [own = "", allowed = ""] = fronts.map(({ port }) => `https://localhost:${port}`);
  const guard = new Guard({ own: [own], allow: [allowed], tls: tlsOf(shown) });
  onTestFinished(() => guard.close());
  const fetched = (from: string) => fetchImage(`${from}/1.png`, { guard, base: own }, never);
  expect(await fetched(own)).toHaveLength(png(1).length);
  await expect(fetched(allowed)).rejects.toMatchObject({ code: "upstream_failed" });
  expect(fronts.map(({ certificates }) => certificates)).toEqual([[ours], []]);
});

describe("files that change", () => {
  /** Gives a file the time that all have in an archive, or an image of a container. */
  const unpacked = (file: string) => utimesSync(file, 1, 1);

  async function renewable() {
    const folder = mkdtempSync(join(tmpdir(), "lintel-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const at = (name: string) => join(folder, `${name}.pem`);
    const put = (name: string, text: string) => {
      writeFileSync(at("new"), text);
      renameSync(at("new"), at(name));
    };
    for (const [name, from] of [
      ["ca", "cert"],
      ["cert", "cert"],
      ["key", "key"],
    ] as const) {
      copyFileSync(pemFile(from), at(name));
      unpacked(at(name));
    }
    const said: unknown[] = [];
    const keep = (fields: object, message: string) => said.push({ ...fields, message });
    const log = { ...silent, info: keep, error: keep };
    const tls = new ClientTls({ ca: at("ca"), cert: at("cert"), key: at("key") }, "gpu", log);
    const front = await tlsFront((await fine()).url, { ca: [pem("cert"), pem("renewed-cert")] });
    return { put, said, front, ask: transportTo(front.port, tls), at };
  }

  /** Asks over a connection that is made now. */
  const anew = async (front: TlsFront, ask: () => Promise<number>) => {
    front.cut();
    // Whose connection was cut may have been chosen just then.
    await expect.poll(() => ask().catch(() => 0)).toBe(200);
    return front.certificates.at(-1);
  };

  it("count for connections that are made from then on", async () => {
    const { put, said, front, ask } = await renewable();
    expect(await ask()).toBe(200);
    expect(front.certificates).toEqual([fingerprint("cert")]);
    put("cert", pem("renewed-cert"));
    put("key", pem("renewed-key"));
    expect(await ask()).toBe(200);
    expect(front.certificates).toHaveLength(1);
    expect(await anew(front, ask)).toBe(ours);
    expect(said).toEqual([{ backend: "gpu", message: "certificates for a backend were renewed" }]);
  });

  it.each<[string, (file: string, text: string) => void]>([
    ["are written in place", writeFileSync],
    [
      "make room for others of the same size and time",
      (file, text) => {
        writeFileSync(`${file}.new`, text);
        unpacked(`${file}.new`);
        renameSync(`${file}.new`, file);
      },
    ],
    [
      "are written in place, and keep their time",
      (file, text) => {
        writeFileSync(file, `${text}\n`);
        unpacked(file);
      },
    ],
  ])("count where they %s", async (_, write) => {
    const { front, ask, at } = await renewable();
    expect(await ask()).toBe(200);
    for (const name of ["cert", "key"]) write(at(name), pem(`renewed-${name}`));
    expect(await anew(front, ask)).toBe(ours);
  });

  it("tell from then on which authorities are trusted", async () => {
    const { put, ask } = await renewable();
    put("ca", pem("named-cert"));
    await expect(ask()).rejects.toMatchObject({ code: "upstream_unreachable" });
    put("ca", pem("cert"));
    expect(await ask()).toBe(200);
  });

  it("are left as they were while they can't be used, and the log says why, once", async () => {
    const { put, said, front, ask, at } = await renewable();
    put("cert", pem("renewed-cert"));
    expect(await anew(front, ask)).toBe(fingerprint("cert"));
    expect(await anew(front, ask)).toBe(fingerprint("cert"));
    expect(said).toEqual([
      {
        backend: "gpu",
        problem: `backends.gpu.tls.key: the key in ${at("key")} is not the one of the certificate in ${at("cert")}`,
        message: "certificates for a backend can't be used: those before stay",
      },
    ]);
    rmSync(at("key"));
    expect(await anew(front, ask)).toBe(fingerprint("cert"));
    put("key", pem("renewed-key"));
    expect(await anew(front, ask)).toBe(ours);
    expect(said).toHaveLength(3);
  });
});

it("is not made of files that can't be used", () => {
  expect(() => tlsOf({ ...shown, key: pemFile("key") })).toThrow(
    /^backends\.test\.tls\.key: the key in .* is not the one of the certificate/,
  );
});
