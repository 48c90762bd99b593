/** Answers as bytes, and back: a part with what is known about the call, then one for each step. */
import { createHash } from "node:crypto";
import type { DescMessage } from "@bufbuild/protobuf";
import { fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import type { Call } from "../call.js";
import { type MethodName, methods, type Output } from "../methods.js";
import { bytesOf } from "../print.js";

/** What a repetition tells its caller and the log besides the messages. */
export interface About {
  readonly model: string;
  readonly asked?: string | undefined;
  readonly countedAs?: string | undefined;
  readonly alias?: string | undefined;
  readonly warnings: readonly string[];
}

/** The first part. */
export function encodeAbout(call: Call): Uint8Array {
  const { model = "", asked, countedAs, alias } = call.attributes;
  const about: About = { model, asked, countedAs, alias, warnings: [...call.warnings] };
  return Buffer.from(JSON.stringify(about));
}

/** What the first part says. */
export function decodeAbout(part: Uint8Array): About {
  return JSON.parse(Buffer.from(part).toString()) as About;
}

/** The messages of one step, each behind its length. */
export function encodeStep(
  method: MethodName,
  messages: readonly Output<MethodName>[],
): Uint8Array {
  const schema = methods[method].output as DescMessage;
  const writer = new BinaryWriter();
  for (const message of messages) writer.bytes(toBinary(schema, message as Message));
  return writer.finish();
}

/** The messages of one step. */
export function decodeStep(method: MethodName, part: Uint8Array): Output<MethodName>[] {
  const schema = methods[method].output as DescMessage;
  const reader = new BinaryReader(part);
  const messages: Output<MethodName>[] = [];
  while (reader.pos < reader.len) {
    messages.push(fromBinary(schema, reader.bytes()) as Output<MethodName>);
  }
  return messages;
}

/** Names a request: method, what its message sets, and whether the answer is to have addresses. */
export function printOf(call: Call): string {
  const schema = methods[call.method].input as DescMessage;
  return createHash("sha256")
    .update(`${call.method}${call.baseUrl === null ? " without addresses" : ""}\n`)
    .update(bytesOf(schema, call.request as Message))
    .digest("base64url");
}

/** Names a key of a caller. */
export function nameOf(call: Call, key: string): string {
  return createHash("sha256")
    .update(`${call.caller?.id ?? ""}\n${key}`)
    .digest("base64url");
}
