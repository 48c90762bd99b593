import { createClient } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { afterEach, describe, expect, test } from "vitest";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { createBackend } from "../../src/backends/index.js";
import type { BackendContext } from "../../src/backends/kind.js";
import { backendSchema } from "../../src/config/kinds.js";
import type { BackendConfig } from "../../src/config/schema.js";
import { silent } from "../../src/core/log.js";
import { type TraceContext, traceOf } from "../../src/core/telemetry.js";
import { Upstream } from "../backends/upstream.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { startLintel } from "../support/lintel.js";
import { hello } from "../support/routing.js";
import { says, scripted } from "../support/scripted.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const trace = {
  traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  tracestate: "vendor=1",
};
const headers = { ...trace, authorization: "Bearer x" };

describe("a caller's place in a trace comes in", () => {
  const post = (path: string) => (url: string) =>
    fetch(url + path, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(hello),
    }).then((response) => response.text());
  const rpc =
    (transport: typeof createGrpcTransport, more: object = {}) =>
    (baseUrl: string) =>
      createClient(ChatService, transport({ baseUrl, ...more } as never)).complete(hello, {
        headers,
      });
  test.each<[string, (url: string) => Promise<unknown>]>([
    ["REST", post("/llm")],
    ["the OpenAI paths", post("/v1/chat/completions")],
    ["gRPC", rpc(createGrpcTransport)],
    ["gRPC that is compressed", rpc(createGrpcTransport, { compressMinBytes: 0 })],
    ["gRPC-Web", rpc(createGrpcWebTransport as never, { httpVersion: "1.1" })],
    ["Connect", rpc(createConnectTransport as never, { httpVersion: "1.1" })],
  ])("over %s", async (_, ask) => {
    const seen: (TraceContext | undefined)[] = [];
    const asked = scripted({
      chat(call) {
        seen.push(call.trace);
        return says("x")(call);
      },
    });
    const lintel = await startLintel([asked]);
    closing.push(() => lintel.close());
    await ask(lintel.url);
    expect(seen).toEqual([trace]);
  });

  test.each([
    ["of another length", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x"],
    ["without a trace", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`],
    ["without a span", `00-4bf92f3577b34da6a3ce929d0e0e4736-${"0".repeat(16)}-01`],
    ["of a version that is none", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
    ["in capitals", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"],
    ["that is something else", "hello"],
  ])("not if it is one %s", (_, traceparent) => {
    expect(traceOf((name) => (name === "traceparent" ? traceparent : "a=1"))).toBeUndefined();
  });

  test("of a later version, and without a state that can't be one", () => {
    const later = trace.traceparent.replace("00-", "01-").concat("-more");
    const told: Record<string, string> = { traceparent: later, tracestate: "a=\u00e9" };
    expect(traceOf((name) => told[name])).toEqual({ traceparent: later });
  });
});

test.each([
  ["openai", (url: string) => ({ url: `${url}/v1`, models: ["m"] })],
  ["rest", (url: string) => ({ url, token: "t", models: [{ id: "m", task: "chat" }] })],
  [
    "ai-sdk",
    (url: string) => ({
      package: "@ai-sdk/openai",
      options: { baseURL: `${url}/v1`, apiKey: "k" },
      models: [{ id: "m", task: "chat" }],
    }),
  ],
])("a backend of type %s is told the attempt's place", async (type, entry) => {
  const upstream = await Upstream.start((exchange) => exchange.sendJson(400, { error: "no" }));
  closing.push(() => upstream.close());
  const config = backendSchema.parse({ type, name: "b", ...entry(upstream.url) });
  const backend = await createBackend(config as BackendConfig, { log: silent } as BackendContext);
  closing.push(() => backend.close());
  const place = "00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01";
  // Whoever watches has the last word on where in the trace an attempt is.
  const observation = { attempt: () => ({ ...trace, traceparent: place }), end() {} };
  const core = coreOf([backend], {}, { telemetry: { begin: () => observation } });
  const header = (name: string) => headers[name as "traceparent"];
  await outcome(core, "chat", { ...hello, model: "m" }, { header });
  const sent = upstream.requests.filter(({ method }) => method === "POST");
  expect(sent.length).toBeGreaterThan(0);
  for (const { headers: got } of sent) {
    expect(got).toMatchObject({ traceparent: place, tracestate: "vendor=1" });
  }
});
