/** gRPC load by h2load. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { otherCore, output } from "../cores.js";

/** Connections, and calls at once on each. */
const connections = 10;
const calls = 4;

/**
 * Calls a method again and again; gives the calls that succeeded, and those in a second.
 * Streams have a hundred messages.
 */
export async function h2load(options: {
  readonly folder: string;
  readonly port: number;
  readonly method: "Chat" | "Complete";
  readonly seconds: number;
  readonly token: string;
}): Promise<{ calls: number; perSecond: number; failures: number }> {
  const { folder, port, method, seconds, token } = options;
  const request = toBinary(
    LLMRequestSchema,
    create(LLMRequestSchema, {
      model: method === "Chat" ? "hundred" : "bench",
      messages: [{ role: "user", content: "What is a lintel, and what does it do in a wall?" }],
    }),
  );
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(request.length, 1);
  const file = join(folder, "request.bin");
  writeFileSync(file, Buffer.concat([prefix, request]));
  const text = await output(otherCore, "h2load", [
    ...["-c", String(connections), "-m", String(calls), "-D", String(seconds), "-d", file],
    ...["-H", "content-type: application/grpc", "-H", "te: trailers"],
    ...["-H", `authorization: Bearer ${token}`],
    `http://127.0.0.1:${port}/lintel.v1.ChatService/${method}`,
  ]);
  const done = Number(/(\d+) succeeded/.exec(text)?.[1]);
  const failures = Number(/(\d+) failed/.exec(text)?.[1]);
  if (!done) throw new Error(`h2load said: ${text}`);
  return { calls: done, perSecond: done / seconds, failures };
}
