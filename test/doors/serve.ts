/** The JSON doors on a real port, around the real core with scripted backends. */
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import type { CoreParts } from "../../src/core/core.js";
import type { MediaStore, StoredMedia } from "../../src/core/media.js";
import type { CoreSettings } from "../../src/core/settings.js";
import { type DoorSettings, doorDefaults } from "../../src/doors/door.js";
import { media } from "../../src/doors/media.js";
import { openai } from "../../src/doors/openai/door.js";
import { rest } from "../../src/doors/rest/door.js";
import { createApp } from "../../src/server/app.js";
import { listen } from "../../src/server/listen.js";
import { coreOf } from "../support/core.js";
import { type Scripted, scripted } from "../support/scripted.js";

/** What a test may set. */
export interface Setting {
  readonly doors?: Partial<DoorSettings>;
  readonly core?: Partial<CoreSettings>;
  readonly parts?: Partial<CoreParts>;
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
  const gateway = coreOf([backend], setting.core, { media: memoryStore(), ...setting.parts });
  const settings = { ...doorDefaults, ...setting.doors };
  const app = await createApp({ bodyLimit: settings.bodyLimit });
  for (const door of [rest, openai, media]) await app.register(door, { gateway, settings });
  const listener = await listen(app, { host: "127.0.0.1", port: 0 });
  const { url, port } = listener;
  onTestFinished(async () => {
    gateway.abort();
    await listener.close(0);
    await app.close();
  });
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

/** A store that forgets with the process. */
function memoryStore(): MediaStore {
  const images = new Map<string, StoredMedia>();
  let count = 0;
  return {
    async put(data, mimeType) {
      const name = `${String(++count).padStart(32, "0")}.png`;
      images.set(name, { data, mimeType });
      return name;
    },
    get: async (name) => images.get(name),
    url: (name) => `http://images.test/media/${name}`,
    delete: async (name) => void images.delete(name),
    close: async () => {},
  };
}

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
