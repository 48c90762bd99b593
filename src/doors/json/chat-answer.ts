/** Chats of the JSON doors: called, and answered whole or as a stream, or counted. */
import type { FastifyReply } from "fastify";
import type {
  CountTokensResponse,
  LLMRequest,
  LLMResponse,
} from "../../../gen/lintel/v1/chat_pb.js";
import type { Origin, Running } from "../../core/gateway.js";
import type { Input } from "../../core/methods.js";
import type { DoorOptions } from "../door.js";
import { type Names, renamed } from "./rename.js";
import { sendWhole } from "./reply.js";
import { callSeveral } from "./several.js";
import { type EventEncoder, sendEvents } from "./sse.js";

/** A chat, as a door has read it. */
export interface AskedChat {
  readonly message: LLMRequest;
  readonly stream: boolean;
  readonly origin: Origin;
  /** The client's names of fields. */
  readonly names: Names;
  /** Whether messages came in parts, as of `renamed`. */
  readonly inParts?: boolean;
  /** Warnings of the door itself. */
  readonly warnings?: readonly string[];
  /** How many answers are wanted. Default: 1. */
  readonly count?: number;
}

/** How a door writes answers. */
export interface ChatForm {
  /** A whole one, as JSON text. @param warnings all of them, the door's first */
  whole(response: LLMResponse, warnings: readonly string[]): string;
  /** Those that are streamed. */
  encoder(running: Running<"chat">): EventEncoder<"chat">;
}

/** Calls the operation that the client asked for, and sends what comes of it. */
export function answerChat(
  reply: FastifyReply,
  { gateway, settings }: DoorOptions,
  { message, stream, origin, names, inParts = false, warnings = [], count = 1 }: AskedChat,
  form: ChatForm,
): void {
  // What is refused in any case is refused once.
  const call = <M extends "chat" | "complete">(method: M): Running<M> =>
    count === 1 || origin.defect
      ? gateway.call(method, message as Input<M>, origin)
      : callSeveral(gateway, method, message, origin, count);
  if (!stream) {
    const running = renamed(call("complete"), names, inParts);
    const encode = (response: LLMResponse) =>
      form.whole(response, warnings.concat(response.warnings));
    sendWhole(reply, running, encode, warnings);
    return;
  }
  const running = renamed(call("chat"), names, inParts);
  sendEvents(reply, running, form.encoder(running), settings, origin.signal, warnings);
}

/** Has the tokens of the prompt counted, and sends what comes of it. @param write as JSON */
export function answerCount(
  reply: FastifyReply,
  { gateway }: DoorOptions,
  { message, origin, names, inParts = false, warnings = [] }: AskedChat,
  write: (counted: CountTokensResponse) => object,
): void {
  const running = renamed(gateway.call("countTokens", message, origin), names, inParts);
  sendWhole(reply, running, (counted) => JSON.stringify(write(counted)), warnings);
}
