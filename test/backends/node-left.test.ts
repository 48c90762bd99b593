/** Connections that nodes leave, as a node does that ends or whose connections become old. */

import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { ChatService, LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { channelTo } from "../../src/backends/node/channel.js";
import { chatting, piece, serve } from "./node-peer.js";

it("are forgotten once they are closed", async () => {
  const peer = await serve(
    chatting(async function* () {
      yield piece("one", "stop");
    }),
  );
  peer.server.on("stream", ({ session }) => session?.goaway(0));
  const { session, transport } = channelTo(peer.address);
  const ask = async () => {
    const request = create(LLMRequestSchema, { model: "m" });
    const messages = (async function* () {
      yield request;
    })();
    const { message } = await transport.stream(
      ChatService.method.chat,
      undefined,
      undefined,
      undefined,
      messages,
    );
    for await (const _ of message);
    peer.cut();
    await expect.poll(() => session.state()).toBe("closed");
  };
  for (let times = 0; times < 3; times++) await ask();
  // The library's own list, by which it would keep them for good.
  expect(session).toHaveProperty("shuttingDown", []);
  session.abort();
});
