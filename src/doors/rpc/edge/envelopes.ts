/** Messages in gRPC's envelopes. */
import { type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { type LLMResponse, LLMResponseSchema } from "../../../../gen/lintel/v1/chat_pb.js";
import { PieceTemplate } from "./pieces.js";

/** Bytes before each message: one of flags, four of length. */
export const prefixLength = 5;

/** Writes messages of one stream, each in its envelope, all in one buffer. */
export type Envelopes = (messages: readonly Message[]) => Buffer;

/** The envelopes of one stream with messages of this type. */
export function envelopesOf(output: DescMessage): Envelopes {
  const template = output === LLMResponseSchema ? new PieceTemplate() : undefined;
  return (messages) => {
    let length = 0;
    const parts = messages.map((message) => {
      const part = template?.pieceOf(message as LLMResponse) ?? toBinary(output, message);
      length += prefixLength + part.length;
      return part;
    });
    const envelopes = Buffer.allocUnsafe(length);
    let at = 0;
    for (const part of parts) {
      // Not compressed.
      envelopes[at] = 0;
      envelopes.writeUInt32BE(part.length, at + 1);
      at += prefixLength;
      if (part instanceof Uint8Array) envelopes.set(part, at);
      else template?.write(part, envelopes, at);
      at += part.length;
    }
    return envelopes;
  };
}
