/** A chat on each door, whole and streamed, with what callers do wrong and when they leave. */
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { ChatService, LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { connect, grpc, grpcWeb, type TransportOf } from "../contract/transports.js";

/** What a caller asks for. */
export interface Asked {
  /** `x-request-id` */
  readonly id: string;
  readonly model: string;
  readonly content: string;
  /** Default: none that is said. */
  readonly temperature?: number | undefined;
  /** Default: `me`; `null`: none. */
  readonly token?: string | null | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Is sent in the place of a request. */
  readonly raw?: string | undefined;
  /** Content type of a body that is none of the door's. */
  readonly type?: string | undefined;
  /** The caller leaves. */
  readonly signal: AbortSignal;
  /** Something of the answer came. */
  readonly onPiece: () => void;
}

/** A way in. */
export interface Way {
  readonly door: string;
  readonly streams: boolean;
  /** Asks, and reads the answer to its end; rejects where there is none. */
  ask(base: string, asked: Asked): Promise<void>;
}

const headersOf = ({ id, token = "me", headers }: Asked) => ({
  "x-request-id": id,
  ...(token !== null && { authorization: `Bearer ${token}` }),
  ...headers,
});

async function post(url: string, type: string, body: string, asked: Asked): Promise<void> {
  const headers = { "content-type": asked.type ?? type, ...headersOf(asked) };
  const init = { method: "POST", headers, body: asked.raw ?? body, signal: asked.signal };
  const response = await fetch(url, init);
  for await (const _ of response.body ?? []) asked.onPiece();
}

/** Ways of JSON. @param path where the request goes, and what it is */
const overHttp =
  (path: (model: string) => string, body: (asked: Asked) => object): Way["ask"] =>
  (base, asked) =>
    post(base + path(asked.model), "application/json", JSON.stringify(body(asked)), asked);

const chat = (path: string, stream: boolean) =>
  overHttp(
    () => path,
    ({ model, content, temperature }) => ({
      ...{ model, stream, temperature, max_tokens: 9 },
      messages: [{ role: "user", content }],
    }),
  );

const responses = (stream: boolean) =>
  overHttp(
    () => "/v1/responses",
    ({ model, content, temperature }) => ({ model, stream, temperature, input: content }),
  );

const generate = (method: string) =>
  overHttp(
    (model) => `/v1beta/models/${model}:${method}`,
    ({ content, temperature }) => ({
      contents: [{ role: "user", parts: [{ text: content }] }],
      generationConfig: { temperature },
    }),
  );

const overRpc =
  (transport: TransportOf, streams: boolean, type: string): Way["ask"] =>
  async (base, asked) => {
    const method = streams ? "Chat" : "Complete";
    const url = `${base}/lintel.v1.ChatService/${method}`;
    if (asked.raw !== undefined) return post(url, type, "", asked);
    const { model, content, temperature, signal, onPiece } = asked;
    const request = create(LLMRequestSchema, {
      ...{ model, messages: [{ role: "user", content }] },
      ...(temperature !== undefined && { temperature }),
    });
    const client = createClient(ChatService, transport(base));
    const options = { headers: headersOf(asked), signal };
    if (!streams) await client.complete(request, options);
    else for await (const _ of client.chat(request, options)) onPiece();
  };

/** Both forms of a door. */
const both = (name: string, door: string, whole: Way["ask"], streamed: Way["ask"]) => ({
  [`${name}, whole`]: { door, streams: false, ask: whole },
  [`${name}, streamed`]: { door, streams: true, ask: streamed },
});

const rpc = (name: string, door: string, transport: TransportOf, types: [string, string]) =>
  both(name, door, overRpc(transport, false, types[0]), overRpc(transport, true, types[1]));

const json = (name: string, door: string, path: string) =>
  both(name, door, chat(path, false), chat(path, true));

const grpcTypes: [string, string] = ["application/grpc", "application/grpc"];
const webTypes: [string, string] = ["application/grpc-web+proto", "application/grpc-web+proto"];

/** Every way in. */
export const ways: Readonly<Record<string, Way>> = {
  ...json("REST", "rest", "/llm"),
  ...json("OpenAI", "openai", "/v1/chat/completions"),
  ...both("Responses", "openai", responses(false), responses(true)),
  ...json("Anthropic", "anthropic", "/v1/messages"),
  ...both(
    "Google",
    "google",
    generate("generateContent"),
    generate("streamGenerateContent?alt=sse"),
  ),
  ...rpc("gRPC", "grpc", grpc, grpcTypes),
  ...rpc("gRPC-Web", "grpc-web", grpcWeb, webTypes),
  ...rpc("Connect", "connect", connect("JSON", "1.1"), [
    "application/json",
    "application/connect+json",
  ]),
};
