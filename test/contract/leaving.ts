/** Callers who leave: each way in, at each moment, with a model server that tells when it hears of it. */
import { fromJson } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { ChatService, LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { backendFor, chunk } from "../backends/openai-subject.js";
import { Upstream } from "../backends/upstream.js";
import { type Lintel, startLintel } from "../support/lintel.js";

/** When the caller leaves. */
export const moments = [
  "before the first token",
  "in mid-stream",
  "in a non-streaming call",
] as const;
/** When the caller leaves. */
export type Moment = (typeof moments)[number];

const hello = { messages: [{ role: "user", content: "Hello" }] };

/** Starts a call that `signal` ends; `onPiece` hears of every piece of the answer. */
type Start = (
  base: string,
  moment: Moment,
  signal: AbortSignal,
  onPiece: () => void,
) => Promise<void>;

const overHttp =
  (path: string, request: object): Start =>
  async (base, moment, signal, onPiece) => {
    const response = await fetch(base + path, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer me" },
      body: JSON.stringify({ ...request, stream: moment !== "in a non-streaming call" }),
      signal,
    });
    for await (const _ of response.body ?? []) onPiece();
  };

const overRpc =
  (open: (baseUrl: string) => ReturnType<typeof createGrpcTransport>): Start =>
  async (base, moment, signal, onPiece) => {
    const client = createClient(ChatService, open(base));
    const request = fromJson(LLMRequestSchema, hello);
    const options = { headers: { authorization: "Bearer me" }, signal };
    if (moment === "in a non-streaming call") await client.complete(request, options);
    else for await (const _ of client.chat(request, options)) onPiece();
  };

/** Every way in. */
export const ways: Readonly<Record<string, Start>> = {
  REST: overHttp("/llm", hello),
  "the Responses API": overHttp("/v1/responses", { input: "Hello" }),
  gRPC: overRpc((baseUrl) => createGrpcTransport({ baseUrl })),
  Connect: overRpc((baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })),
};

/** A gateway before a model server that never ends. */
export interface Stage {
  readonly lintel: Lintel;
  /**
   * Lets a caller leave. Resolves when the model server has seen it.
   * @returns milliseconds from the one to the other
   */
  leave(way: string, moment: Moment): Promise<number>;
  close(): Promise<void>;
}

/** Starts one. */
export async function openStage(): Promise<Stage> {
  const upstream = await Upstream.start();
  const backend = backendFor(upstream.url);
  const lintel = await startLintel([backend]);
  return {
    lintel,
    async leave(way, moment) {
      const asked = deferred();
      const gone = new Promise<void>((resolve) => {
        upstream.script(async (exchange) => {
          if (moment === "in mid-stream") await exchange.stream(chunk({ content: "a" }));
          asked.resolve();
          await exchange.gone;
          resolve();
        });
      });
      const piece = deferred();
      const controller = new AbortController();
      const call = ways[way]?.(lintel.url, moment, controller.signal, piece.resolve);
      // It ends by the abort; how a client words that is its own affair.
      call?.catch(() => {});
      await asked.promise;
      if (moment === "in mid-stream") await piece.promise;
      const left = performance.now();
      controller.abort();
      await gone;
      return performance.now() - left;
    },
    async close() {
      await lintel.close();
      await backend.close();
      await upstream.close();
    },
  };
}

/** `Promise.withResolvers`, which Node 20 does not have. */
function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
