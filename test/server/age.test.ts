/** Connections that have become old: their clients make others, and lose nothing. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { EventEmitter, once } from "node:events";
import { create, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { expect, it, onTestFinished, vi } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { whenOld } from "../../src/server/age.js";
import { hello } from "../doors/serve.js";
import { startLintel } from "../support/lintel.js";
import { says, scripted } from "../support/scripted.js";
import { http2, serve, session, tcp } from "./serve.js";

const limits = { maxAge: 50 };

it("of one that is closed nothing waits any more", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const connection = new EventEmitter();
  whenOld(connection, 1000, () => {});
  expect(vi.getTimerCount()).toBe(1);
  connection.emit("close");
  expect(vi.getTimerCount()).toBe(0);
});

it("over HTTP/2 what runs ends whole, then the connection", async () => {
  const { url, holding, held } = await serve({ limits });
  const client = session(url);
  const stream = client.request({ ":path": "/hold" });
  await holding(1);
  const [code] = await once(client, "goaway");
  expect(code).toBe(0);
  expect((await http2(session(url), {})).status).toBe(200);
  const closed = once(client, "close");
  for (const release of held) release();
  let text = "";
  for await (const part of stream.setEncoding("utf8")) text += part;
  expect(text).toBe("firstlast");
  await closed;
});

it("over HTTP/1 it ends with an answer that says so", async () => {
  const { port } = await serve({ limits });
  const socket = tcp(port);
  let answers = "";
  const ask = () => socket.write("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n");
  socket.on("data", (part) => {
    answers += part;
    if (answers.endsWith("hello") && !/connection: close/i.test(answers)) ask();
  });
  ask();
  await once(socket, "close");
  expect(answers).toMatch(/connection: keep-alive\r\n.*connection: close\r\n.*hello$/is);
});

it("a client of gRPC goes on, over one connection after the other", async () => {
  let connections = 0;
  const count = () => {
    connections++;
  };
  subscribe("net.client.socket", count);
  onTestFinished(() => void unsubscribe("net.client.socket", count));
  const lintel = await startLintel([scripted({ chat: says("a", "b") })], { listen: { limits } });
  onTestFinished(() => lintel.close());
  const client = new grpc.Client(new URL(lintel.url).host, grpc.credentials.createInsecure());
  onTestFinished(() => client.close());
  const metadata = new grpc.Metadata();
  metadata.set("authorization", "Bearer me");
  const message = Buffer.from(toBinary(LLMRequestSchema, create(LLMRequestSchema, hello())));
  const call = () =>
    new Promise<void>((resolve, reject) => {
      client.makeUnaryRequest(
        "/lintel.v1.ChatService/Complete",
        () => message,
        (answer) => answer,
        {},
        metadata,
        (error) => (error ? reject(error) : resolve()),
      );
    });
  const ask = async () => {
    while (connections < 6) await call();
  };
  await Promise.all(Array.from({ length: 20 }, ask));
});
