/** A whole Lintel for one test, with what JSON clients need to talk to it. */
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import type { CoreParts } from "../../src/core/core.js";
import type { CoreSettings } from "../../src/core/settings.js";
import type { Door, DoorSettings } from "../../src/doors/door.js";
import { startLintel } from "../support/lintel.js";
import { type Scripted, scripted } from "../support/scripted.js";

/** What a test may set. */
export interface Setting {
  readonly doors?: Partial<DoorSettings>;
  readonly core?: Partial<CoreSettings>;
  readonly parts?: Partial<CoreParts>;
  /** Beside those that every gateway has. */
  readonly moreDoors?: readonly Door[];
}

/** A running server. */
export interface Served {
  /** Address without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Posts JSON, or a body as it is, with a bearer token. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  /** A bare connection on which a request was written. */
  socket(request: string): Socket;
}

/** Serves a backend until the test is over. */
export async function serve(backend: Backend | Scripted, setting: Setting = {}): Promise<Served> {
  const lintel = await startLintel([backend], {
    ...(setting.core && { settings: setting.core }),
    ...(setting.parts && { parts: setting.parts }),
    ...(setting.doors && { doorSettings: setting.doors }),
    ...(setting.moreDoors && { moreDoors: setting.moreDoors }),
  });
  onTestFinished(() => lintel.close());
  const { url } = lintel;
  const port = Number(new URL(url).port);
  return {
    url,
    port,
    post: (path, body, headers) =>
      fetch(url + path, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: "Bearer me", ...headers },
        body: isRaw(body) ? body : JSON.stringify(body),
      }),
    get: (path, headers) =>
      fetch(url + path, { headers: { authorization: "Bearer me", ...headers } }),
    socket(request) {
      const socket = connect(port, "127.0.0.1");
      socket.write(request);
      onTestFinished(() => {
        socket.destroy();
      });
      return socket;
    },
  };
}

/** Serves chat with one handle. */
export const serveChat = (chat: Backend["handlers"]["chat"], setting?: Setting) =>
  serve(scripted({ chat }), setting);

const isRaw = (body: unknown): body is string | Uint8Array =>
  typeof body === "string" || body instanceof Uint8Array;

/** The events of a finished stream, `data:` lines only; the rest must be comments and blanks. */
export function eventsOf(text: string): string[] {
  const events: string[] = [];
  for (const block of text.split("\n\n")) {
    if (block === "" || block.startsWith(":")) continue;
    if (!block.startsWith("data: ")) throw new Error(`not an event: ${JSON.stringify(block)}`);
    events.push(block.slice("data: ".length));
  }
  return events;
}

/** All paths that take JSON, but for those of RPCs. */
export const jsonPaths = [
  "/llm",
  "/text-to-image",
  "/v1/chat/completions",
  "/v1/responses",
  "/v1/messages",
  "/v1beta/models/chat-1:generateContent",
  "/v1/images/generations",
] as const;

/** A chat request of one message. */
export const hello = (more: object = {}) => ({
  messages: [{ role: "user", content: "Hello" }],
  ...more,
});

/** Bytes of an HTTP/1.1 request. */
export function http(path: string, body: string, headers = ""): string {
  return `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer me\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers without their types
type Json = any;

/** The body of a JSON answer. */
export const json = async (response: Response): Promise<Json> => (await response.json()) as Json;

/** The objects of a stream that ended with `[DONE]`. */
export async function chunks(response: Response): Promise<Json[]> {
  const events = eventsOf(await response.text());
  if (events.pop() !== "[DONE]") throw new Error("the stream did not end with [DONE]");
  return events.map((text) => JSON.parse(text) as Json);
}

/** The code of an error, which Google's form has among its details. */
// biome-ignore lint/suspicious/noExplicitAny: answers are looked at as a client would
export const codeIn = ({ error }: any): string => error.details?.[0].reason ?? error.code;
