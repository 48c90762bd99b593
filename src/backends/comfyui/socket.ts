/** The websocket over which ComfyUI tells one call how its prompts are getting on. */
import { WebSocket } from "ws";
import { type Message, readFrame, readMessage } from "./messages.js";

/** How to reach it. */
export interface SocketOptions {
  /** `ws:` or `wss:`, with the call's id. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Longest time to connect, milliseconds. */
  readonly timeout: number;
}

/** Most bytes of one message: a preview is small. */
const largest = 32 * 1024 * 1024;

/** Messages that wait to be read; of more, those about steps are not worth keeping. */
const most = 1000;
const aboutSteps: ReadonlySet<Message["type"]> = new Set(["progress", "preview"]);

/** A connection. Losing it is no failure: what is done can be asked for. */
export class Socket {
  readonly #socket: WebSocket;
  readonly #queue: Message[] = [];
  #wake: () => void = () => {};

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data: Buffer, binary: boolean) => {
      const message = binary ? readFrame(data) : readMessage(data.toString("utf8"));
      if (!message) return;
      if (this.#queue.length < most || !aboutSteps.has(message.type)) this.#queue.push(message);
      this.#wake();
    });
    socket.on("close", () => this.#wake());
  }

  /** Connects; resolves also if that fails. */
  static open({ url, headers, timeout }: SocketOptions): Promise<Socket> {
    const socket = new WebSocket(url, {
      headers,
      handshakeTimeout: timeout,
      maxPayload: largest,
      perMessageDeflate: false,
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
    return this.#queue.shift();
  }

  /** Ends it at once. */
  close(): void {
    this.#socket.terminate();
  }
}
