/** The websocket over which ComfyUI tells one call how its prompts are getting on. */
import type { Duplex } from "node:stream";
import { type ClientOptions, WebSocket } from "ws";
import { withoutBrackets } from "../../hostname.js";
import type { ClientTls } from "../http/client-tls.js";
import { environmentProxies, type Proxies } from "../http/proxy.js";
import { throughTunnel } from "../http/tunnel.js";
import { type Message, readFrame, readMessage } from "./messages.js";

/** How to reach it. */
export interface SocketOptions {
  /** `ws:` or `wss:`, with the call's id. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Longest time to connect, milliseconds. */
  readonly timeout: number;
  /** Default: the environment's. */
  readonly proxies?: Proxies | undefined;
  /** For `wss:`. Default: what Node trusts, and no certificate to show. */
  readonly tls?: ClientTls | undefined;
}

/** Most bytes of one message: a preview is small. */
const largest = 32 * 1024 * 1024;

/** Messages that wait to be read; of more, those about steps are not worth keeping. */
const most = 1000;
/** Where there are yet more, or more bytes of them, the server talks nonsense. */
const tooMany = 2 * most;
const mostBytes = 32 * 1024 * 1024;
/** Previews that wait, in bytes; of more the oldest go, and the newest stays in any case. */
const previewBytes = 4 * 1024 * 1024;

interface Waiting {
  readonly message: Message;
  readonly bytes: number;
}

/** A connection. Losing it is no failure: what is done can be asked for. */
export class Socket {
  readonly #socket: WebSocket;
  readonly #queue: Waiting[] = [];
  #bytes = 0;
  #previewBytes = 0;
  #wake: () => void = () => {};

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data: Buffer, binary: boolean) => {
      const message = binary ? readFrame(data) : readMessage(data.toString("utf8"));
      if (message) this.#keep({ message, bytes: data.length });
    });
    socket.on("close", () => this.#wake());
  }

  /** Connects; resolves also if that fails. */
  static open({ url, headers, timeout, proxies, tls }: SocketOptions): Promise<Socket> {
    const socket = new WebSocket(url, {
      headers,
      handshakeTimeout: timeout,
      maxPayload: largest,
      perMessageDeflate: false,
      ...tls?.current(),
      ...throughProxy(url, timeout, proxies, tls),
    });
    const opened = new Socket(socket);
    // "close" follows; without a listener an error would end the process.
    socket.on("error", () => {});
    return new Promise((resolve) => {
      socket.once("open", () => resolve(opened));
      socket.once("close", () => resolve(opened));
    });
  }

  /** Whether more may come. */
  get alive(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** The next message; `undefined` if none comes within some milliseconds, or the connection ended. */
  async next(ms: number): Promise<Message | undefined> {
    if (this.#queue.length === 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        if (!this.alive) return;
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this.#take(0)?.message;
  }

  #keep(waiting: Waiting): void {
    const { message, bytes } = waiting;
    const preview = message.type === "preview";
    if (preview) this.#makeRoom(bytes);
    const steps = preview || message.type === "progress";
    if (steps && this.#queue.length >= most) return;
    if (this.#queue.length >= tooMany || this.#bytes + bytes > mostBytes) {
      this.close();
      return;
    }
    this.#queue.push(waiting);
    this.#bytes += bytes;
    if (preview) this.#previewBytes += bytes;
    this.#wake();
  }

  /** @param bytes of the preview that comes */
  #makeRoom(bytes: number): void {
    while (this.#previewBytes > 0 && this.#previewBytes + bytes > previewBytes) {
      this.#take(this.#queue.findIndex(({ message }) => message.type === "preview"));
    }
  }

  #take(at: number): Waiting | undefined {
    const [taken] = this.#queue.splice(at, 1);
    if (!taken) return undefined;
    this.#bytes -= taken.bytes;
    if (taken.message.type === "preview") this.#previewBytes -= taken.bytes;
    return taken;
  }

  /** Ends it at once. */
  close(): void {
    this.#socket.terminate();
  }
}

/** How it is connected through the proxy of its server. Proxies know websockets only in tunnels, also without TLS. */
function throughProxy(
  address: string,
  timeout: number,
  proxies: Proxies = environmentProxies(),
  tls?: ClientTls,
): ClientOptions {
  const url = new URL(address.replace(/^ws/, "http"));
  const proxy = proxies.for(url);
  if (!proxy) return {};
  const { protocol, host, port } = url;
  const hostname = withoutBrackets(url.hostname);
  const open = throughTunnel(proxy, timeout, tls);
  const createConnection = (_: unknown, done: (error: Error | null, socket?: Duplex) => void) => {
    open({ protocol, host, hostname, port }, (error, socket) => done(error, socket ?? undefined));
  };
  return { createConnection } as unknown as ClientOptions;
}
