/**
 * A model server that plays a script: real bytes on a loopback socket, cut
 * where the test wants them cut. It records what was asked and sees who left.
 */
import { createServer, type Server, type Socket } from "node:net";
import type { Fixture } from "./fixture.js";
import { readRequest } from "./request-reader.js";

/** A request as it came over the wire. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** What to do with a request. The connection stays open until the script settles. */
export type Script = (exchange: Exchange) => void | Promise<void>;

/** One request and the answer to it. */
export class Exchange {
  readonly request: ReceivedRequest;
  /** Resolves when the client has closed this connection, for whatever reason. */
  readonly gone: Promise<void>;
  readonly #socket: Socket;

  constructor(request: ReceivedRequest, socket: Socket, gone: Promise<void>) {
    this.request = request;
    this.#socket = socket;
    this.gone = gone;
  }

  /** The request's body as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
  json(): any {
    return JSON.parse(this.request.body.toString("utf8"));
  }

  /** Writes bytes as they are; resolves once the kernel has them, or the client is gone. */
  raw(bytes: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.destroyed) return resolve();
      this.#socket.write(bytes, () => resolve());
    });
  }

  /** Writes the status line and headers. Chunked, unless `headers` gives a length. */
  head(status: number, headers: Record<string, string> = {}): Promise<void> {
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    const framing =
      names.includes("content-length") || names.includes("transfer-encoding")
        ? {}
        : { "transfer-encoding": "chunked" };
    const lines = Object.entries({ ...headers, ...framing }).map(([k, v]) => `${k}: ${v}\r\n`);
    return this.raw(`HTTP/1.1 ${status} Scripted\r\n${lines.join("")}\r\n`);
  }

  /** Writes one chunk of a chunked body. */
  chunk(piece: string | Uint8Array): Promise<void> {
    const bytes = Buffer.from(piece as string);
    if (bytes.length === 0) return Promise.resolve();
    const size = Buffer.from(`${bytes.length.toString(16)}\r\n`);
    return this.raw(Buffer.concat([size, bytes, Buffer.from("\r\n")]));
  }

  /** Ends a chunked body. */
  end(): Promise<void> {
    return this.raw("0\r\n\r\n");
  }

  /** A whole answer, with its length. */
  async send(
    status: number,
    headers: Record<string, string>,
    body: string | Uint8Array,
  ): Promise<void> {
    const bytes = Buffer.from(body as string);
    await this.head(status, { ...headers, "content-length": String(bytes.length) });
    await this.raw(bytes);
  }

  /** A whole answer in JSON. */
  sendJson(status: number, value: unknown, headers: Record<string, string> = {}): Promise<void> {
    return this.send(
      status,
      { "content-type": "application/json", ...headers },
      JSON.stringify(value),
    );
  }

  /** The head of an event stream, then one chunk for each event given. */
  async stream(...events: (string | object)[]): Promise<void> {
    await this.head(200, { "content-type": "text/event-stream; charset=utf-8" });
    await this.events(...events);
  }

  /** One chunk for each event; objects become `data: <JSON>`. */
  async events(...events: (string | object)[]): Promise<void> {
    for (const event of events) {
      await this.chunk(typeof event === "string" ? event : `data: ${JSON.stringify(event)}\n\n`);
    }
  }

  /**
   * Plays a fixture.
   * @param cuts size of every piece in bytes, or the offsets at which the body is cut
   */
  async play(fixture: Fixture, cuts: number | readonly number[] = []): Promise<void> {
    await this.head(fixture.status, fixture.headers);
    for (const piece of cut(fixture.body, cuts)) await this.chunk(piece);
    await this.end();
  }

  /** Closes the connection at once, in the middle of whatever was written. */
  destroy(): void {
    this.#socket.destroy();
  }
}

/** Cuts bytes into pieces of a size, or at offsets. */
export function cut(bytes: Buffer, cuts: number | readonly number[]): Buffer[] {
  const offsets =
    typeof cuts === "number"
      ? Array.from({ length: Math.ceil(bytes.length / cuts) - 1 }, (_, i) => (i + 1) * cuts)
      : cuts;
  return [0, ...offsets].map((from, i) => bytes.subarray(from, offsets[i] ?? bytes.length));
}

/** A scripted model server. */
export class Upstream {
  /** `http://127.0.0.1:port`, without a path; known also after `close`. */
  readonly url: string;
  /** Everything that was asked, in order. */
  readonly requests: ReceivedRequest[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #routes = new Map<string, Script>();
  #fallback: Script = (exchange) => exchange.sendJson(404, { error: { message: "no script" } });
  #waiting: { count: number; resolve: () => void }[] = [];
  #connections = 0;

  private constructor(server: Server) {
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("not listening");
    this.url = `http://127.0.0.1:${address.port}`;
    this.#server = server;
    server.on("connection", (socket) => void this.#serve(socket));
  }

  /**
   * Starts one on 127.0.0.1.
   * @param port 0: a free one
   */
  static async start(script?: Script, port = 0): Promise<Upstream> {
    const server = createServer({ noDelay: true });
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    const upstream = new Upstream(server);
    return script ? upstream.script(script) : upstream;
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Connections that were ever made. */
  get connections(): number {
    return this.#connections;
  }

  /** Says how every request that has no route of its own is answered from now on. */
  script(script: Script): this {
    this.#fallback = script;
    return this;
  }

  /** Says how requests to one path, without query, are answered from now on. */
  route(path: string, script: Script): this {
    this.#routes.set(path, script);
    return this;
  }

  /** Resolves when so many requests have come in all. */
  received(count: number): Promise<void> {
    if (this.requests.length >= count) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }

  /** Closes every connection and the port. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(socket: Socket): Promise<void> {
    this.#sockets.add(socket);
    this.#connections += 1;
    socket.on("error", () => {});
    const gone = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    void gone.then(() => this.#sockets.delete(socket));
    for await (const request of readRequest(socket)) {
      this.requests.push(request);
      this.#waiting = this.#waiting.filter(({ count, resolve }) => {
        if (this.requests.length < count) return true;
        resolve();
        return false;
      });
      const script = this.#routes.get(request.path.replace(/\?.*/, "")) ?? this.#fallback;
      await script(new Exchange(request, socket, gone));
    }
  }
}
