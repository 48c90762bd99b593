/** A real proxy on loopback, for which every name is this machine's; ports stay as they are. */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { onTestFinished } from "vitest";

/** What a proxy was asked for. */
export interface Asked {
  /** `CONNECT host:port`, or the method and the whole address. */
  readonly what: string;
  readonly host: string | undefined;
  readonly authorization: string | undefined;
}

/** What it does instead of what it is asked for: a status, no answer at all, or it closes the connection. */
export type Mood = number | "hangs" | "breaks";

/** A proxy that runs until the test is over. */
export class TestProxy {
  readonly asked: Asked[] = [];
  mood: Mood | undefined;
  /** Connections to it that are open. */
  readonly open = new Set<Socket>();
  port = 0;

  /** @param tls where it is itself spoken to with TLS */
  static async start(tls?: { readonly cert: Buffer; readonly key: Buffer }): Promise<TestProxy> {
    const proxy = new TestProxy();
    const server = tls ? createSecureServer(tls) : createServer();
    server.on("connection", (socket: Socket) => {
      proxy.open.add(socket);
      socket.once("close", () => proxy.open.delete(socket));
    });
    server.on("connect", (asked, client) => proxy.#connect(asked, client));
    server.on("request", (asked, answer) => proxy.#forward(asked, answer));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    proxy.port = (server.address() as AddressInfo).port;
    onTestFinished(() => {
      server.close();
      for (const socket of proxy.open) socket.destroy();
    });
    return proxy;
  }

  #keep({ method, url, headers }: IncomingMessage): void {
    const { host, "proxy-authorization": authorization } = headers;
    this.asked.push({ what: `${method} ${url}`, host, authorization });
  }

  #connect(asked: IncomingMessage, client: Duplex): void {
    this.#keep(asked);
    client.on("error", () => {});
    const { mood } = this;
    if (mood === "hangs") return;
    if (mood === "breaks") return void client.destroy();
    if (mood !== undefined) return void client.end(`HTTP/1.1 ${mood} No\r\n\r\n`);
    const server = connect(Number(asked.url?.split(":").at(-1)), "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      server.pipe(client).pipe(server);
    });
    server.on("error", () => client.destroy());
    client.once("close", () => server.destroy());
  }

  #forward(asked: IncomingMessage, answer: ServerResponse): void {
    this.#keep(asked);
    const { mood } = this;
    if (mood === "hangs") return;
    if (mood === "breaks") return void asked.socket.destroy();
    if (mood !== undefined) return void answer.writeHead(mood).end("the proxy's own page");
    const { port, pathname, search } = new URL(asked.url ?? "");
    const { "proxy-authorization": _, ...headers } = asked.headers;
    const path = `${pathname}${search}`;
    const options = { host: "127.0.0.1", port, method: asked.method ?? "GET", path, headers };
    const forwarded = request(options, (got) => {
      answer.writeHead(got.statusCode ?? 500, got.headers);
      got.pipe(answer);
    });
    forwarded.on("error", () => answer.destroy());
    asked.pipe(forwarded);
  }
}
