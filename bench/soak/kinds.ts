/** Calls of all kinds by all doors, each under an id of its own, and what became of each as its caller saw it. */
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
import { rough } from "./rough.js";

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

type Headers = Record<string, string>;

const oneOf = <T>(...values: T[]): T => values[Math.floor(Math.random() * values.length)] as T;

/** Mishaps that either server, or the one that is asked first, has. */
const mishaps = [
  "break",
  "early",
  "garbage",
  "status500",
  "status503",
  "status429",
  "reset",
].flatMap((deed) => [deed, `${deed}@a`, `${deed}@b`]);

/** Those that take until a time-out. */
const delays = ["hang@a", "hang@b", "silent", "slow", "slow@a"];

const user = () => `user-${randomUUID()}`;
const words = () => randomBytes(400).toString("hex");
const turn = (content: string) => [{ role: "user", content }];

/** Calls of one client; weights are how often each comes. */
export function kindsOf({ url, agent }: Client): readonly (readonly [string, Ask])[] {
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
    (transport: Transport, content: () => string, leaves = false): Ask =>
    async (id) => {
      const client = createClient(ChatService, transport);
      const headers = { authorization: `Bearer ${tokens.steady}`, "x-request-id": id };
      try {
        for await (const _ of client.chat(
          { model: "chat", messages: turn(content()), user: user() },
          { headers },
        ))
          if (leaves) return "left";
      } catch (error) {
        // What connect-node does with a call that it is about to send on a connection that becomes old.
        return String(error).includes("REFUSED_STREAM") ? "unheard" : "failed";
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
    if (oneOf(true, false)) await first;
    await read(ask("/llm", body, againOf(id), headers));
    return first;
  };
  const image = () => ({
    model_id: "image",
    prompt: `a dot ${words()}`,
    width: 64,
    height: 64,
    num_inference_steps: 1,
  });
  /** Makes an image, and fetches it. */
  const picture: Ask = async (id) => {
    const { statusCode, body } = await ask("/text-to-image", image(), id);
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
  return [
    ["REST", post("/llm", chat)],
    ["SSE", post("/llm", () => streamed(chat()))],
    [
      "SSE, email",
      post("/llm", () => streamed(chat({ messages: turn(`I am ${randomUUID()}@example.com`) }))),
    ],
    ["OpenAI", post("/v1/chat/completions", () => ({ ...chat(), stream: oneOf(true, false) }))],
    [
      "Responses",
      post("/v1/responses", () => ({
        model: "chat",
        input: hello(),
        stream: oneOf(true, false),
        safety_identifier: user(),
      })),
    ],
    [
      "OpenAI image",
      post("/v1/images/generations", () => ({ model: "image", prompt: words(), size: "64x64" })),
    ],
    [
      "Anthropic",
      post("/v1/messages", () => ({
        model: "chat",
        max_tokens,
        messages: turn(hello()),
        stream: oneOf(true, false),
        metadata: { user_id: user() },
      })),
    ],
    [
      "Anthropic, count",
      post("/v1/messages/count_tokens", () => ({ model: "chat", messages: turn(hello()) })),
    ],
    [
      "Google",
      post("/v1beta/models/chat:generateContent", () => ({
        contents: [{ parts: [{ text: hello() }] }],
      })),
    ],
    [
      "Google, stream",
      post("/v1beta/models/chat:streamGenerateContent?alt=sse", () => ({
        contents: [{ parts: [{ text: hello() }] }],
      })),
    ],
    ["gRPC", rpc(grpc, hello)],
    ["gRPC, left", rpc(grpc, hello, true)],
    ["gRPC, mishap", rpc(grpc, () => `${words()} do:${oneOf(...mishaps)}`)],
    ["gRPC-Web", rpc(web, hello)],
    ["Connect", rpc(connect, hello)],
    ["Connect, left", rpc(connect, () => `${words()} do:slow`, true)],
    ["image", picture],
    ["kept, always new", post("/llm", () => chat({ model: "kept", stream: oneOf(true, false) }))],
    [
      "kept, the same",
      post("/llm", () =>
        chat({ model: "kept", messages: turn("What is Lintel?"), stream: oneOf(true, false) }),
      ),
    ],
    [
      "watched",
      post("/llm", () =>
        chat({
          model: "watched",
          messages: turn(`guard:${oneOf("flag", "fail", "pass")} ${words()}`),
        }),
      ),
    ],
    ["any name of a pattern", post("/llm", () => chat({ model: `any-${randomUUID()}` }))],
    [
      "a name that passes",
      post("/llm", () =>
        chat({ model: `listed-${Math.floor(Date.now() / 3000) - oneOf(0, 1, 2, 3)}` }),
      ),
    ],
    [
      "no such model",
      post("/llm", () => chat({ model: `none-${randomUUID()}`, stream: oneOf(true, false) })),
    ],
    [
      "no such model, Google",
      post("/v1beta/models/none:generateContent", () => ({
        contents: [{ parts: [{ text: "Hi" }] }],
      })),
    ],
    ["no such token", post("/llm", chat, () => ({ authorization: `Bearer ${randomUUID()}` }))],
    [
      "no such path",
      async (id) => {
        await read(ask(`/none/${randomUUID()}`, {}, id));
        return "refused";
      },
    ],
    [
      "wrong",
      async (id) => {
        const seen = await read(
          ask(oneOf("/llm", "/v1/chat/completions", "/text-to-image"), wrong(), id),
        );
        return seen === "ok" ? "ok" : "unheard";
      },
    ],
    ["limited", post("/llm", chat, () => ({ authorization: `Bearer ${tokens.poor}` }))],
    ["key, new", post("/llm", () => chat({ stream: oneOf(true, false) }), keyed)],
    ["key, twice", twice],
    ["key, left", leaving("/llm", () => streamed(chat()), "first", keyed)],
    [
      "session, new",
      post("/llm", chat, () => ({
        "x-session-id": randomUUID(),
        traceparent: `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-01`,
      })),
    ],
    ["deadline", post("/llm", delay, () => ({ "x-request-timeout-ms": "80" }))],
    ["mishap", post("/llm", mishap)],
    ["mishap, SSE", post("/llm", () => streamed(mishap()))],
    ["mishap, OpenAI", post("/v1/chat/completions", () => streamed(mishap()))],
    [
      "mishap, Anthropic",
      post("/v1/messages", () => ({
        model: "chat",
        max_tokens,
        messages: turn(`do:${oneOf(...mishaps)} ${words()}`),
        stream: true,
      })),
    ],
    ["mishap, key", post("/llm", () => streamed(mishap()), keyed)],
    ["delay", post("/llm", () => ({ ...delay(), stream: oneOf(true, false) }))],
    ["left before", leaving("/llm", () => streamed(chat()), "before")],
    ["left before, whole", leaving("/llm", () => chat(), "before")],
    ["left at first", leaving("/v1/chat/completions", () => streamed(chat()), "first")],
    [
      "left within",
      leaving(
        "/v1/messages",
        () => ({ model: "chat", max_tokens, messages: turn(`do:slow ${words()}`), stream: true }),
        "within",
      ),
    ],
    ["left, delay", leaving("/llm", () => streamed(delay()), "before")],
    ["left, image", leaving("/text-to-image", () => ({ ...image(), stream: true }), "before")],
    ...rough(url),
  ];
}
