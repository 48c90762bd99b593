/** When gRPC's clients that retry by a policy of their own are told to come again. */
import { once } from "node:events";
import { connect } from "node:http2";
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { ChatService, LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import type { ErrorCode } from "../../src/core/error-table.js";
import { LintelError } from "../../src/core/errors.js";
import { onTrailers } from "../support/grpc-trailers.js";
import { breaksAfter, says, scripted } from "../support/scripted.js";
import { hello, serveRpc } from "./rpc-server.js";

type Chat = NonNullable<Parameters<typeof scripted>[0]["chat"]>;

/** Each has its own: a target is left alone for as long as it says. */
const serve = (chat: Chat) => serveRpc([scripted({ chat })]);

const refusing = (code: ErrorCode, retryAfter?: number): Chat =>
  breaksAfter(
    new LintelError(code, "words", {
      retry: "never",
      ...(retryAfter !== undefined && { retryAfter }),
    }),
  );

const request = create(LLMRequestSchema, hello);
const message = encodeEnvelope(0, toBinary(LLMRequestSchema, request));

/** What a call's status says of when to come again. */
async function pushback(url: string, headers: Record<string, string>) {
  const session = connect(url);
  const stream = session.request({
    ":method": "POST",
    "content-type": "application/grpc",
    authorization: "Bearer me",
    te: "trailers",
    ...headers,
  });
  let said: unknown;
  onTrailers(stream, (trailers) => {
    said = trailers["grpc-retry-pushback-ms"];
  });
  stream.resume().end(message);
  await once(stream, "close");
  session.destroy();
  return said;
}

const cases: [code: ErrorCode, seconds: number | undefined, timeout: string, said?: string][] = [
  ["rate_limited", 2.5, "", "2500"],
  ["rate_limited", 61, "", "61000"],
  ["rate_limited", 62, "", "-1"],
  ["rate_limited", 31_536_000, "", "-1"],
  ["rate_limited", 50, "90S", "50000"],
  // What would be left of a deadline then.
  ["rate_limited", 50, "40S", "-1"],
  ["unavailable", 5, "40S", "5000"],
  ["unavailable", 50, "40S", undefined],
  ["unavailable", 62, "", undefined],
  ["overloaded", undefined, "", "1000"],
  ["model_not_loaded", undefined, "", "10000"],
  ["shutting_down", undefined, "", undefined],
  ["upstream_failed", undefined, "", undefined],
  ["invalid_value", 1.5, "", undefined],
];

describe.each([
  ["plain", {}],
  ["by the library", { "grpc-encoding": "gzip" }],
])("a refusal, %s", (_, encoding) => {
  it.each(cases)("%s for %s s, with the deadline %j: %s", async (code, seconds, timeout, said) => {
    for (const method of ["Chat", "Complete"]) {
      const { url } = await serve(refusing(code, seconds));
      const headers = {
        ":path": `/lintel.v1.ChatService/${method}`,
        ...encoding,
        ...(timeout && { "grpc-timeout": timeout }),
      };
      expect(await pushback(url, headers)).toBe(said);
    }
  });
});

it("only gRPC has it", async () => {
  const { url } = await serve(refusing("rate_limited", 2));
  const asked = { method: "POST", body: toJsonString(LLMRequestSchema, request) };
  const headers = { authorization: "Bearer me", "content-type": "application/json" };
  const answer = await fetch(`${url}/lintel.v1.ChatService/Complete`, { ...asked, headers });
  expect(answer.headers.get("retry-after")).toBe("2");
  expect(answer.headers.has("grpc-retry-pushback-ms")).toBe(false);
});

it("grpc-js comes again when it was told to, and not after its own pause", async () => {
  const retryPolicy = {
    ...{ maxAttempts: 2, initialBackoff: "3600s", maxBackoff: "3600s", backoffMultiplier: 1 },
    retryableStatusCodes: ["RESOURCE_EXHAUSTED"],
  };
  const methodConfig = [{ name: [{ service: ChatService.typeName }], retryPolicy }];
  const options = {
    "grpc.service_config": JSON.stringify({ loadBalancingConfig: [], methodConfig }),
  };
  const metadata = new grpc.Metadata();
  metadata.set("authorization", "Bearer me");
  /** How often the model was asked, and what came of it. */
  const calling = async (seconds: number) => {
    let asked = 0;
    const { port } = await serve((call) =>
      (asked++ === 0 ? refusing("rate_limited", seconds) : says("Hel", "lo"))(call),
    );
    const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), options);
    onTestFinished(() => client.close());
    const came = await new Promise<string>((resolve) =>
      client.makeUnaryRequest(
        `/${ChatService.typeName}/Complete`,
        () => Buffer.from(toBinary(LLMRequestSchema, request)),
        (bytes) => bytes,
        request,
        metadata,
        (error, bytes) => resolve(error ? `${error.code}` : `${bytes}`),
      ),
    );
    return [asked, came];
  };
  expect(await calling(0.01)).toEqual([2, expect.stringContaining("Hello")]);
  expect(await calling(86_400)).toEqual([1, `${grpc.status.RESOURCE_EXHAUSTED}`]);
});
