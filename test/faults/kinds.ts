/** Calls of every kind, as clients make them, each with the id that it is told by. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";

/** Makes a call; answers `ok`, `left` or the code of its error. @throws Error where the connection breaks */
export type Ask = (id: string) => Promise<string>;

type Headers = Record<string, string>;

const chat = (model: string, stream: boolean, more: object = {}) => ({
  model,
  stream,
  messages: [{ role: "user", content: "Hello" }],
  ...more,
});
const image = {
  model_id: "image",
  prompt: "a dot",
  width: 64,
  height: 64,
  num_inference_steps: 1,
};
const failing = { messages: [{ role: "user", content: "fail please" }] };

/** What became of an answer over REST. */
async function read(asked: Promise<Response>): Promise<string> {
  const answer = await asked;
  const text = await answer.text();
  const code = /"code":\s*"(\w+)"/.exec(text)?.[1];
  if (!answer.ok || text.includes('"error"')) return code ?? `${answer.status}`;
  const whole = /"finish_reason":\s*"(stop|length)"/.test(text);
  return text.startsWith("data:") && !whole ? "broken off" : "ok";
}

/**
 * The kinds of one caller, who keeps connections of its own.
 * @param name what sessions are called by
 * @param embedded a model that the gateway runs itself, or none
 */
export function kindsOf(url: string, name: string, embedded?: string): [string, Ask][] {
  const post = (path: string, body: object, headers: Headers, signal?: AbortSignal) =>
    fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      signal: signal ?? AbortSignal.timeout(60_000),
    });
  const rest =
    (path: string, body: object, more: () => Headers = () => ({})): Ask =>
    (id) =>
      read(post(path, body, { "x-request-id": id, ...more() }));
  const grpc = createClient(ChatService, createGrpcTransport({ baseUrl: url }));
  const transport = createConnectTransport({ baseUrl: url, httpVersion: "2" });
  const connect = createClient(ChatService, transport);
  const rpc =
    (client: typeof grpc, ms: number): Ask =>
    async (id) => {
      const asked = { model: "shared", messages: [{ role: "user", content: "Hello" }] };
      for await (const _ of client.chat(asked, { headers: { "x-request-id": id } }))
        await pause(ms);
      return "ok";
    };
  const leave: Ask = async (id) => {
    const controller = new AbortController();
    const headers = { "x-request-id": id };
    const { body } = await post("/llm", chat("shared", true), headers, controller.signal);
    try {
      for await (const _ of body ?? []) controller.abort();
    } catch {}
    return "left";
  };
  const kinds: [string, Ask][] = [
    ["REST", rest("/llm", chat("shared", false))],
    ["SSE", rest("/llm", chat("shared", true))],
    ["cache key", rest("/v1/chat/completions", chat("shared", true, { prompt_cache_key: name }))],
    ["session", rest("/llm", chat("shared", false), () => ({ "x-session-id": name }))],
    ["key", rest("/llm", chat("shared", true), () => ({ "idempotency-key": randomUUID() }))],
    ["gRPC", rpc(grpc, 0)],
    ["Connect, slow", rpc(connect, 20)],
    ["left", leave],
    ["fails", rest("/llm", chat("shared", true, failing))],
    ["image", rest("/text-to-image", image)],
  ];
  if (embedded) kinds.push(["embedded", rest("/llm", chat(embedded, true, { max_tokens: 4 }))]);
  return kinds;
}
