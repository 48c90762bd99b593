/** Requests as bytes, the same for requests that mean the same. */
import { type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { impliedBy, isOfAskedSize } from "./defaults.js";

/** What a request sets, as bytes. A field that equals its default counts as not set. */
export function bytesOf(schema: DescMessage, message: Message): Uint8Array {
  const values: Message & Record<string, unknown> = { ...message };
  for (const field of schema.fields) {
    const { name, localName, proto } = field;
    const value = values[localName];
    // All others are not written where they are zero.
    if (!proto.proto3Optional) continue;
    const unset = value === impliedBy(field) && !isOfAskedSize(field, message);
    if (unset || (name === "top_k" && value === 0)) values[localName] = undefined;
  }
  return toBinary(schema, values);
}
