/** Callers of RPCs who leave at any moment: that is no fault of ours, and not in the log as one. */
import { once } from "node:events";
import { connect } from "node:http2";
import { expect, test } from "vitest";
import type { Logger } from "../../src/core/log.js";
import { hangsAfter, scripted } from "../support/scripted.js";
import { serve } from "./serve.js";

const types: [string, Record<string, string>][] = [
  ["gRPC with gzip", { "content-type": "application/grpc", "grpc-encoding": "gzip" }],
  ["gRPC JSON", { "content-type": "application/grpc+json" }],
  ["gRPC-Web", { "content-type": "application/grpc-web" }],
  ["gRPC-Web as text", { "content-type": "application/grpc-web-text" }],
  ["Connect", { "content-type": "application/connect+json" }],
];

test.each(types)("%s", async (_, headers) => {
  const errors: object[] = [];
  const quiet = () => {};
  const log = { debug: quiet, info: quiet, warn: quiet, error: (e: object) => errors.push(e) };
  const server = await serve(scripted({ chat: hangsAfter("Hi").handle }), {
    parts: { log: log as unknown as Logger },
  });
  for (const authorization of ["none", "Bearer me"]) {
    for (const path of ["Chat", "Complete"]) {
      const client = connect(server.url);
      client.on("error", quiet);
      const streams = Array.from({ length: 40 }, (_, i) => {
        const stream = client.request({
          ":method": "POST",
          ":path": `/lintel.v1.ChatService/${path}`,
          authorization,
          ...headers,
        });
        stream.on("error", quiet).resume();
        stream.end(Buffer.from([0, 0, 0, 0, 0]));
        setTimeout(() => stream.close(8), i / 2);
        return once(stream, "close");
      });
      await Promise.all(streams);
      client.destroy();
    }
  }
  // What the gateway has still to hear of was sent before this.
  expect((await server.get("/v1/models")).status).toBe(200);
  expect(errors).toEqual([]);
});
