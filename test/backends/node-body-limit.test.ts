/** How large a request may be that a gateway sends to its node. */
import { create, toBinary } from "@bufbuild/protobuf";
import { expect, onTestFinished, test } from "vitest";
import { type LLMRequest, LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { silent } from "../../src/core/log.js";
import { startNode } from "../../src/node.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { tiny } from "./llama-subject.js";
import { connectTo } from "./node-peer.js";

/** What a gateway in front of a node, whose model has room for 128 tokens, says to a caller's message of so many bytes. */
async function answered(bytes: number, bodyLimit?: number) {
  const listen = { host: "127.0.0.1", port: 0 };
  const node = await startNode({ models: [tiny], listen, bodyLimit, log: silent });
  onTestFinished(() => node.close(0));
  const gateway = coreOf([connectTo(node.url, { token: "any" })]);
  return (await outcome(gateway, "complete", messageOf(bytes))).code;
}

/** A request that has so many bytes in protobuf's binary form. */
function messageOf(bytes: number): LLMRequest {
  const request = (content: string) =>
    create(LLMRequestSchema, { messages: [{ role: "user", content }] });
  const most = "a".repeat(bytes);
  const over = toBinary(LLMRequestSchema, request(most)).length - bytes;
  return request(most.slice(over));
}

test("a node takes what a gateway takes, with what that one adds, and no more", async () => {
  expect(await answered(1024 * 1024)).toBe("invalid_value");
  expect(await answered(1024 * 1024 + 5000)).toBe("too_large");
});

test("the operator can have it take more", async () => {
  const bodyLimit = 2 * 1024 * 1024;
  expect(await answered(bodyLimit, bodyLimit)).toBe("invalid_value");
  expect(await answered(bodyLimit + 5000, bodyLimit)).toBe("too_large");
});
