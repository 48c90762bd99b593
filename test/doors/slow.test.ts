/** Requests over HTTP/2 that do not come to their end, on every door: all of the body is there but its end. */
import { once } from "node:events";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { startLintel } from "../support/lintel.js";
import { says, scripted } from "../support/scripted.js";
import { hello } from "./serve.js";

let asked = 0;
const chat: ReturnType<typeof says> = (...args) => {
  asked++;
  return says("Hi")(...args);
};
const { url, close } = await startLintel([scripted({ chat })], {
  listen: { timeouts: { request: 80 } },
});
// The RPC plugin would say there what it could not answer a second time.
const said = vi.spyOn(console, "error");
afterAll(async () => {
  await close();
  expect(said).not.toHaveBeenCalled();
});

const message = toBinary(LLMRequestSchema, create(LLMRequestSchema, hello()));
const json = Buffer.from(JSON.stringify(hello()));
const service = "/lintel.v1.ChatService";

/** Sends a request without its end. */
async function slow(path: string, type: string, body: Uint8Array, more: object) {
  const client = connect(url);
  onTestFinished(() => client.destroy());
  const headers = { authorization: "Bearer me", "x-request-id": "mine-1234", ...more };
  const stream = client.request({
    ":method": "POST",
    ":path": path,
    "content-type": type,
    ...headers,
  });
  stream.write(body);
  const [head] = (await once(stream, "response")) as [IncomingHttpHeaders];
  let text = "";
  for await (const part of stream.setEncoding("utf8")) text += part;
  return { head, text, code: stream.rstCode };
}

test.each<[string, string, string, Uint8Array, object?]>([
  ["gRPC", `${service}/Chat`, "application/grpc", encodeEnvelope(0, message)],
  [
    "gRPC by the library",
    `${service}/Chat`,
    "application/grpc",
    encodeEnvelope(0, message),
    { "grpc-encoding": "gzip" },
  ],
  ["gRPC-Web", `${service}/Chat`, "application/grpc-web+proto", encodeEnvelope(0, message)],
  ["Connect", `${service}/Complete`, "application/json", json],
  ["REST", "/llm", "application/json", json],
  ["OpenAI", "/v1/chat/completions", "application/json", json],
])("%s", async (_, path, type, body, more = {}) => {
  const { head, text, code } = await slow(path, type, body, more);
  expect(head["x-request-id"]).toBe("mine-1234");
  if (type.startsWith("application/grpc")) {
    expect(head).toMatchObject({
      ":status": 200,
      "content-type": type,
      "grpc-status": String(Code.DeadlineExceeded),
    });
  } else {
    expect(head[":status"]).toBe(408);
    expect(JSON.parse(text).error.code).toBe("request_timeout");
  }
  expect(code).toBe(0);
  expect(asked).toBe(0);
});
