/** A scripted ComfyUI: its queue, its history and its websocket, with a sampler that only counts. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import type { Workflow } from "../../src/backends/comfyui/workflow.js";
import { type Fixture, fixture } from "./fixture.js";
import { paint } from "./paint.js";

/** A prompt in the queue. */
export interface Queued {
  readonly number: number;
  readonly id: string;
  readonly client: string;
  readonly workflow: Workflow;
}

/** What an answer may be instead of the usual one. */
export type Play = (response: ServerResponse, request: IncomingMessage) => void;

/** A server on a free port of 127.0.0.1. */
export class Comfy {
  readonly url: string;
  /** Everything that was asked: method, path, and body if there was one. */
  readonly requests: { method: string; path: string; body: string }[] = [];
  /** Headers of the last request, and of the last websocket. */
  headers: IncomingMessage["headers"] = {};
  socketHeaders: IncomingMessage["headers"] = {};
  /** Of the last request with a workflow. */
  submittedHeaders: IncomingMessage["headers"] = {};
  /** Workflows as they were submitted. */
  readonly submitted: Workflow[] = [];
  readonly interrupted: string[] = [];
  readonly deleted: string[] = [];
  /** Answers to the next requests to a path, or below it, instead of the usual ones. */
  readonly next: { path: string; play: Play }[] = [];
  /** Where the next prompt gets stuck: before it tells anything, or after its first step. */
  stuck: "before" | "middle" | undefined;
  onStuck: () => void = () => {};
  onStop: () => void = () => {};
  /** Messages instead of the usual ones of the next prompt, with ID for its id. */
  messages: readonly (string | Buffer)[] | undefined;
  /** What the history tells of the next prompt, for example `"history-error"`. */
  history = "history";
  /** Takes no ids of prompts, and interrupts whatever runs, as before 2025. */
  old = false;
  /** No websockets at all, as behind a proxy that knows none. */
  deaf = false;
  readonly #http: Server;
  readonly #sockets = new Map<string, WebSocket>();
  readonly #connections = new Set<Socket>();
  readonly #done = new Map<string, { workflow: Workflow; history: string }>();
  #running: Queued | undefined;
  #pending: Queued[] = [];
  readonly #asked = new Map<string, () => void>();
  #number = 0;

  private constructor(http: Server) {
    this.#http = http;
    this.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    http.on("request", (request, response) => void this.#answer(request, response));
    http.on("connection", (socket) => {
      this.#connections.add(socket);
      socket.on("close", () => this.#connections.delete(socket));
    });
    const sockets = new WebSocketServer({ noServer: true });
    http.on("upgrade", (request, socket, head) => {
      this.socketHeaders = request.headers;
      const { pathname } = new URL(request.url ?? "", this.url);
      if (this.deaf || pathname !== "/ws") return void socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
      sockets.handleUpgrade(request, socket, head, (ws) => {
        const client = new URL(request.url ?? "", this.url).searchParams.get("clientId") ?? "";
        this.#sockets.set(client, ws);
        ws.on("close", () => this.#sockets.delete(client));
      });
    });
  }

  /** @param port 0: a free one */
  static async start(port = 0): Promise<Comfy> {
    const http = createServer();
    await new Promise<void>((resolve) => http.listen(port, "127.0.0.1", resolve));
    return new Comfy(http);
  }

  /** How many websockets are open. */
  get listeners(): number {
    return this.#sockets.size;
  }

  /** Somebody else's prompt, which takes until it is said to be done. */
  occupy(id = "somebody"): { done(): void } {
    const other = { number: this.#number++, id, client: "", workflow: {} };
    if (this.#running) this.#pending.push(other);
    else this.#running = other;
    return {
      done: () => {
        if (this.#running === other) this.#leave();
        else this.#pending = this.#pending.filter((one) => one !== other);
      },
    };
  }

  /** Somebody presses Cancel on its page: what runs is interrupted, and its client hears of it. */
  halt(): void {
    const work = this.#running;
    if (!work) return;
    const told = { prompt_id: "ID", node_id: "5", executed: [] };
    this.#tell(work, [JSON.stringify({ type: "execution_interrupted", data: told })]);
    this.#leave();
  }

  /** Resolves with the first request to a path. */
  asked(path: string): Promise<void> {
    return new Promise((resolve) => this.#asked.set(path, resolve));
  }

  /** Closes every websocket. */
  hangUp(): void {
    for (const socket of this.#sockets.values()) socket.terminate();
  }

  async close(): Promise<void> {
    this.hangUp();
    for (const socket of this.#connections) socket.destroy();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString("utf8");
    const url = new URL(request.url ?? "", this.url);
    const { method = "GET" } = request;
    this.requests.push({ method, path: request.url ?? "", body });
    this.headers = request.headers;
    this.#asked.get(url.pathname)?.();
    const at = this.next.findIndex(({ path }) => `${url.pathname}/`.startsWith(`${path}/`));
    if (at >= 0) return this.next.splice(at, 1)[0]?.play(response, request);
    const [, first, ...rest] = url.pathname.split("/");
    const route = `${method} /${first}`;
    const id = decodeURIComponent(rest[0] ?? "");
    if (route === "GET /object_info") {
      return play(fixture(`comfyui/${id === "LoraLoader" ? "loras" : "checkpoints"}`))(response);
    }
    if (route === "GET /system_stats") return play(fixture("comfyui/stats"))(response);
    if (route === "GET /queue") return this.#queue(response);
    if (route === "GET /history") return this.#history(id, response);
    if (route === "GET /view") return this.#view(url.searchParams, response);
    if (route === "POST /prompt") return this.#prompt(JSON.parse(body), response);
    if (route === "POST /queue") return this.#delete(JSON.parse(body).delete, response);
    if (route === "POST /interrupt") return this.#interrupt(JSON.parse(body).prompt_id, response);
    response.writeHead(404).end("404: Not Found");
  }

  // biome-ignore lint/suspicious/noExplicitAny: whatever was sent
  #prompt(body: any, response: ServerResponse): void {
    const id = this.old ? randomUUID() : body.prompt_id;
    this.submittedHeaders = this.headers;
    this.submitted.push(body.prompt);
    const number = this.#number++;
    this.#pending.push({ number, id, client: body.client_id, workflow: body.prompt });
    send(response, { prompt_id: id, number, node_errors: {} });
    setImmediate(() => this.#run());
  }

  #run(): void {
    if (this.#running) return;
    this.#running = this.#pending.shift();
    const work = this.#running;
    if (!work || work.client === "") return;
    const { stuck, messages } = this;
    this.stuck = undefined;
    this.messages = undefined;
    if (stuck === "before") this.onStuck();
    else if (messages) {
      this.#tell(work, messages);
      this.#leave();
    } else this.#sample(work, stuck === "middle");
  }

  /** Counts to the end, or to the first step. */
  #sample(work: Queued, stuck: boolean): void {
    const [status, started, ...rest] = linesOf("messages");
    this.#tell(work, [status ?? "", started ?? ""]);
    const { node, steps } = samplerOf(work.workflow);
    for (let step = 1; step <= steps; step++) {
      const data = { value: step, max: steps, prompt_id: work.id, node };
      this.#tell(work, [frame(1, paint(8, 8, step)), JSON.stringify({ type: "progress", data })]);
      if (stuck) {
        this.onStuck();
        return;
      }
    }
    this.#tell(
      work,
      rest.filter((line) => !/"progress"|null/.test(line)),
    );
    this.#leave();
    this.#tell(
      work,
      rest.filter((line) => line.includes("null")),
    );
  }

  #tell({ id, client }: Queued, messages: readonly (string | Buffer)[]): void {
    for (const message of messages) {
      const text = typeof message === "string" && message.replaceAll('"ID"', JSON.stringify(id));
      this.#sockets.get(client)?.send(text || message);
    }
  }

  /** What ran is done, or was given up. */
  #leave(): void {
    const work = this.#running;
    if (work) this.#done.set(work.id, { workflow: work.workflow, history: this.history });
    this.#running = undefined;
    setImmediate(() => this.#run());
  }

  #queue(response: ServerResponse): void {
    const entry = ({ number, id, client, workflow }: Queued) => [
      number,
      id,
      workflow,
      { client_id: client },
      ["7"],
    ];
    send(response, {
      queue_running: this.#running ? [entry(this.#running)] : [],
      // A heap, not a sorted list.
      queue_pending: this.#pending.map(entry).reverse(),
    });
  }

  #history(id: string, response: ServerResponse): void {
    const done = this.#done.get(id);
    if (!done) {
      send(response, {});
      return;
    }
    const text = String(fixture(`comfyui/${done.history}`).body);
    const file = text
      .replaceAll('"ID"', JSON.stringify(id))
      .replace("ComfyUI_temp_ncgpl_00001_", id);
    response.writeHead(200, { "content-type": "application/json" }).end(file);
  }

  #view(query: URLSearchParams, response: ServerResponse): void {
    const done = this.#done.get((query.get("filename") ?? "").replace(/\.png$/, ""));
    if (!done || query.get("type") !== "temp") return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": "image/png" }).end(pictureOf(done.workflow));
  }

  #delete(ids: readonly string[], response: ServerResponse): void {
    for (const id of ids) {
      if (!this.#pending.some((one) => one.id === id)) continue;
      this.#pending = this.#pending.filter((one) => one.id !== id);
      this.deleted.push(id);
      this.onStop();
    }
    response.writeHead(200).end();
  }

  #interrupt(id: string | undefined, response: ServerResponse): void {
    if (this.#running && (this.old || id === undefined || this.#running.id === id)) {
      this.interrupted.push(this.#running.id);
      this.#leave();
      this.onStop();
    }
    response.writeHead(200).end();
  }
}

/** Answers with a fixture. */
export const play =
  ({ status, headers, body }: Fixture) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, headers).end(body);

/** The websocket's messages of a fixture. */
export const linesOf = (name: string): string[] =>
  String(fixture(`comfyui/${name}`).body)
    .trim()
    .split("\n");

/** A binary frame: a picture with its type. */
export function frame(
  type: number,
  picture: Uint8Array,
  more: Uint8Array = Buffer.from([0, 0, 0, 2]),
): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(type);
  return Buffer.concat([head, more, picture]);
}

function samplerOf(workflow: Workflow): { node: string; steps: number } {
  const [node = "", { inputs } = { inputs: {} }] =
    Object.entries(workflow).find(([, { class_type: type }]) => type === "KSampler") ?? [];
  return { node, steps: Number((inputs as Record<string, unknown>).steps) };
}

/** The picture that a workflow makes: another one for whatever differs in it. */
export function pictureOf(workflow: Workflow): Buffer {
  const all = Object.values(workflow);
  const inputs = (type: string) => all.find((node) => node.class_type === type)?.inputs ?? {};
  const { width, height } = inputs("EmptyLatentImage");
  // No node knows it: it only keeps ComfyUI from answering with an earlier file.
  const drawn = (key: string, value: unknown) => (key === "lintel_prompt" ? undefined : value);
  return paint(Number(width), Number(height), 0, JSON.stringify(workflow, drawn));
}

function send(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}
