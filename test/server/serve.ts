/** A listener with a few routes, on a free port of this machine. */
import { request as httpRequest, type IncomingHttpHeaders, type RequestOptions } from "node:http";
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  type Http2ServerResponse,
} from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { onTestFinished } from "vitest";
import { breakOffSoon } from "../../src/doors/reset.js";
import { createApp } from "../../src/server/app.js";
import { type Listener, listen } from "../../src/server/listen.js";
import type { AppSettings, ListenOptions } from "../../src/server/settings.js";

export interface Served extends Listener {
  readonly app: FastifyInstance;
  /** Answers to requests of `/hold` and `/late` that wait; see `release`. */
  readonly held: Set<() => void>;
  /** How many requests were begun. */
  begun(): number;
  /** Resolves when so many of these have come. */
  holding(count: number): Promise<void>;
}

/**
 * `/hello`, `/echo` (POST), `/hold` (starts an answer, ends it when released), `/late` (starts it
 * then, too), `/broken` (starts one over HTTP/2, and breaks it off), and 64 MiB as `/big` and, in a
 * single write, as `/whole`.
 */
export async function serve(
  options: Partial<ListenOptions> = {},
  settings: Partial<AppSettings> = {},
): Promise<Served> {
  const app = await createApp(settings);
  const held = new Set<() => void>();
  let came = () => {};
  let begun = 0;
  app.addHook("onRequest", (_request, _reply, done) => {
    begun++;
    done();
  });
  app.get("/hello", () => "hello");
  app.post("/echo", (request) => request.body);
  for (const path of ["/hold", "/late"]) {
    app.get(path, (_request, reply) => {
      reply.hijack();
      const start = () => reply.raw.writeHead(200, { "content-type": "text/plain" }).write("first");
      if (path === "/hold") start();
      const release = () => {
        held.delete(release);
        if (path === "/late") start();
        reply.raw.end("last");
      };
      held.add(release);
      reply.raw.on("close", () => held.delete(release));
      came();
    });
  }
  app.get("/broken", (_request, reply) => {
    reply.hijack();
    const { stream } = reply.raw as unknown as Http2ServerResponse;
    stream.respond({ ":status": 200 });
    breakOffSoon(stream);
  });
  app.get("/big", (_request, reply) => reply.send(Buffer.alloc(64 * 1024 * 1024)));
  app.get("/whole", (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200).write(Buffer.alloc(64 * 1024 * 1024));
  });
  const listener = await listen(app, {
    host: "127.0.0.1",
    port: 0,
    ...options,
  } as ListenOptions);
  onTestFinished(async () => {
    await listener.close(0);
    await app.close();
  });
  const holding = (count: number) =>
    new Promise<void>((resolve) => {
      came = () => held.size >= count && resolve();
      came();
    });
  return { ...listener, app, held, begun: () => begun, holding };
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A request over HTTP/1. */
export function http1(options: RequestOptions, body?: string | Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
      );
      response.on("error", reject);
    });
    request.on("error", reject).end(body);
  });
}

/** A session over HTTP/2, destroyed with the test. */
export function session(
  url: string,
  options: Parameters<typeof connectHttp2>[1] = {},
): ClientHttp2Session {
  const client = connectHttp2(url, options);
  client.on("error", () => {});
  onTestFinished(() => client.destroy());
  return client;
}

/** A request over HTTP/2. */
export function http2(
  client: ClientHttp2Session,
  headers: Record<string, string>,
  body?: string | Buffer,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    // CONNECT has none.
    const path = headers[":method"] !== "CONNECT" && { ":path": "/hello" };
    const stream = client.request({ ...path, ...headers }, { endStream: false });
    let received: IncomingHttpHeaders & { ":status"?: number } = {};
    let text = "";
    stream.on("response", (h) => {
      received = h;
    });
    stream.setEncoding("utf8").on("data", (part) => {
      text += part;
    });
    stream.on("end", () =>
      resolve({ status: received[":status"] ?? 0, headers: received, body: text }),
    );
    stream.on("error", reject);
    stream.on("close", () => reject(new Error(`closed with ${stream.rstCode}`)));
    stream.end(body);
  });
}

/** A bare connection, destroyed with the test. */
export function tcp(port: number): Socket {
  const socket = connectTcp({ host: "127.0.0.1", port });
  socket.on("error", () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  return socket;
}

/** Resolves when a connection has ended from the other side; what came until then. */
export function ended(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.on("data", (part) => {
      text += part.toString("latin1");
    });
    socket.on("close", () => resolve(text));
  });
}
