/** How calls are made by each door, under an id of their own, and what became of each as its caller saw it. */
import { randomBytes, randomUUID } from "node:crypto";
import { createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { type Agent, request } from "undici";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { tokens } from "./configuration.js";

/**
 * What a caller saw: `ok` a whole answer; `again` one that another call had before; `failed` an error; `refused` what
 * leaves no record (no token, a key that was used otherwise); `left`; `unheard` where nobody can say.
 */
export type Seen = "ok" | "again" | "failed" | "refused" | "left" | "unheard";

/** The id of a call that asks again by the key of another. */
export const againOf = (id: string): string => `${id}-again`;

/** Makes a call under an id. */
export type Ask = (id: string) => Promise<Seen>;

/** Who asks: connections of its own. */
export interface Client {
  readonly url: string;
  readonly agent: Agent;
}

/** Of a request. */
export type Headers = Record<string, string>;

/** One of them, by chance. */
export const oneOf = <T>(...values: T[]): T =>
  values[Math.floor(Math.random() * values.length)] as T;

/** Mishaps that either server, or the one that is asked first, has. */
export const mishaps = [
  "break",
  "early",
  "garbage",
  "status500",
  "status503",
  "status429",
  "reset",
].flatMap((deed) => [deed, `${deed}@a`, `${deed}@b`]);

/** Those that take until a time-out. */
export const delays = ["hang@a", "hang@b", "silent", "slow", "slow@a"];

/** A user that was never there before, and words that nobody said. */
export const user = () => `user-${randomUUID()}`;
export const words = () => randomBytes(400).toString("hex");
/** A conversation of one message. */
export const turn = (content: string) => [{ role: "user", content }];

/** The calls of one client, which have connections of their own for each protocol. */
export function asking({ url, agent }: Client) {
  const ask = (path: string, body: unknown, id: string, more: Headers = {}, signal?: AbortSignal) =>
    request(url + path, {
      dispatcher: agent,
      method: "POST",
      headers: {
        authorization: `Bearer ${tokens.steady}`,
        "content-type": "application/json",
        "x-request-id": id,
        ...more,
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...(signal && { signal }),
    });
  /** Reads an answer to its end. */
  const read = async (asked: ReturnType<typeof ask>): Promise<Seen> => {
    const { statusCode, headers, body } = await asked;
    const text = await body.text();
    if (headers["idempotent-replayed"] !== undefined) return "again";
    if (statusCode === 401) return "refused";
    if (statusCode >= 300 || /"error":\s*\{|event: error|response\.failed/.test(text)) {
      return text.includes("idempotency-key") ? "refused" : "failed";
    }
    return "ok";
  };
  const post =
    (path: string, body: () => unknown, more: () => Headers = () => ({})): Ask =>
    (id) =>
      read(ask(path, body(), id, more()));
  const chat = (more: object = {}) => ({
    model: "chat",
    messages: turn(`Hello ${words()}`),
    user: user(),
    ...more,
  });
  const leaving =
    (
      path: string,
      body: () => object,
      when: "before" | "first" | "within",
      more?: () => Headers,
    ): Ask =>
    async (id) => {
      const controller = new AbortController();
      if (when === "before") setTimeout(() => controller.abort(), Math.random() * 12);
      try {
        const { body: parts } = await ask(path, body(), id, more?.(), controller.signal);
        let n = 0;
        for await (const _ of parts) if (++n >= (when === "within" ? 3 : 1)) controller.abort();
      } catch {}
      return "left";
    };
  const grpc = createGrpcTransport({ baseUrl: url });
  const web = createGrpcWebTransport({ baseUrl: url, httpVersion: "2" });
  const connect = createConnectTransport({ baseUrl: url, httpVersion: "1.1" });
  const rpc =
    (transport: Transport, content: () => string, leaves = false, model = "chat"): Ask =>
    async (id) => {
      const client = createClient(ChatService, transport);
      const headers = { authorization: `Bearer ${tokens.steady}`, "x-request-id": id };
      try {
        for await (const _ of client.chat(
          { model, messages: turn(content()), user: user() },
          { headers },
        ))
          if (leaves) return "left";
      } catch (error) {
        // What connect-node says of a call that it is about to send on a connection that becomes old, and of one whose
        // connection ended with a process that was killed.
        if (/REFUSED_STREAM|closed with error code CANCEL/.test(String(error))) return "unheard";
        // An error that the gateway told has no cause; one of the connection has.
        return (error as Error).cause === undefined ? "failed" : "unheard";
      }
      return "ok";
    };
  const hello = () => `Hello ${words()}`;
  const keyed = (): Headers => ({ "idempotency-key": randomUUID() });
  /** Asks twice by one key, at once or one after the other: only one of them runs, whichever comes first. */
  const twice: Ask = async (id) => {
    const body = JSON.stringify(chat({ stream: oneOf(true, false) }));
    const headers = keyed();
    const first = read(ask("/llm", body, id, headers));
    // Looked at below, but it may fail sooner, with a worker that is killed.
    first.catch(() => {});
    if (oneOf(true, false)) await first;
    await read(ask("/llm", body, againOf(id), headers));
    return first;
  };
  const image = (model_id = "image") => ({
    model_id,
    prompt: `a dot ${words()}`,
    width: 64,
    height: 64,
    num_inference_steps: 1,
  });
  /** Makes an image, and fetches it. */
  const picture =
    (model = "image"): Ask =>
    async (id) => {
      const { statusCode, body } = await ask("/text-to-image", image(model), id);
      const text = await body.text();
      const address = /"(http:[^"]*\/media\/[^"]+)"/.exec(text)?.[1];
      if (statusCode >= 300 || !address) return "failed";
      const { body: bytes } = await request(address, { dispatcher: agent });
      await bytes.dump({ limit: 10_000_000 });
      return "ok";
    };
  const mishap = () => chat({ messages: turn(`${words()} do:${oneOf(...mishaps)}`) });
  const delay = () => chat({ messages: turn(`${words()} do:${oneOf(...delays)}`) });
  const streamed = (body: object) => ({ ...body, stream: true });
  const max_tokens = 50;
  const wrong = (): unknown =>
    oneOf<unknown>(
      "{",
      "[]",
      { messages: [] },
      chat({ temperature: 9 }),
      chat({ [randomUUID()]: 1 }),
    );
  return {
    ask,
    read,
    post,
    chat,
    leaving,
    grpc: (content: () => string, leaves?: boolean, model?: string) =>
      rpc(grpc, content, leaves, model),
    web: (content: () => string) => rpc(web, content),
    connect: (content: () => string, leaves?: boolean) => rpc(connect, content, leaves),
    hello,
    keyed,
    twice,
    image,
    picture,
    mishap,
    delay,
    streamed,
    max_tokens,
    wrong,
  };
}

/** How one client makes its calls. */
export type Asking = ReturnType<typeof asking>;
