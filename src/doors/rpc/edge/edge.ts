/**
 * Plain gRPC straight on HTTP/2 streams. The RPC library costs several times
 * more for each call; here go the calls that nearly all gRPC clients make:
 * protobuf, not compressed, one request message. Whatever is asked otherwise is
 * left to the library, which serves the same methods.
 */

import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { type DescMessage, type DescMethod, fromBinary, type Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { Admission } from "../../../core/call.js";
import { type CallSignal, Cancellation } from "../../../core/cancellation.js";
import { callerLeft, LintelError } from "../../../core/errors.js";
import { afterReads } from "../../../core/turn.js";
import { Delivery } from "../../delivery.js";
import type { StreamHandler } from "../../door.js";
import type { Connection } from "../../forwarded.js";
import { unfoldsTooFar } from "../../items.js";
import { GrpcAnswer, type Metadata } from "./answer.js";
import { isPlain, type Malformed, messageTooLarge, readMessage, timeoutIn } from "./request.js";

/** One call as a method sees it. */
export interface EdgeCall {
  readonly headers: IncomingHttpHeaders;
  /** What it came by; absent once that is closed. */
  readonly connection: Connection | undefined;
  /** Who is let in, or why nobody is; absent: nobody was asked. */
  readonly admission: Admission | undefined;
  /** The message; an empty one if it could not be read, or the caller is not let in. */
  readonly request: Message;
  /** What was wrong with the request. */
  readonly defect: LintelError | undefined;
  /** The client's deadline, milliseconds from now. */
  readonly timeoutMs: number | undefined;
  /** Aborted when the client leaves. */
  readonly signal: CallSignal;
}

/** A call that was started. */
export interface EdgeRunning {
  /** The messages, in batches; one of them if the method is unary. */
  readonly messages: AsyncIterable<readonly Message[]>;
  /** Asked for once, when the first message is there or the call failed. */
  headers(): Metadata;
  /** Asked for once, at the end. */
  trailers(): Metadata;
  /** What callers get to see of what was thrown. */
  error(thrown: unknown): ConnectError;
}

/** A method. Never throws: everything that goes wrong comes through `messages`. */
export type EdgeMethod = (call: EdgeCall) => EdgeRunning;

/** Finds out who calls, before anything is read. Never throws or rejects. */
export type Admit = (
  headers: IncomingHttpHeaders,
  stream: ServerHttp2Stream,
) => Admission | Promise<Admission>;

interface Entry {
  readonly method: DescMethod;
  readonly start: EdgeMethod;
}

/**
 * Serves methods.
 * @param methods unary and server-streaming ones; others are left to the library
 * @param bodyLimit largest request message, bytes
 * @param admit absent: messages are read whoever sends them
 */
export function grpcEdge(
  methods: ReadonlyMap<DescMethod, EdgeMethod>,
  bodyLimit: number,
  admit?: Admit,
): StreamHandler {
  const entries = new Map<string, Entry>();
  for (const [method, start] of methods) {
    entries.set(`/${method.parent.typeName}/${method.name}`, { method, start });
  }
  return (stream, headers) => {
    const entry = entries.get(headers[":path"] ?? "");
    if (!entry || !isPlain(headers)) return false;
    serve(stream, headers, entry, bodyLimit, admit?.(headers, stream));
    return true;
  };
}

function serve(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { method, start }: Entry,
  bodyLimit: number,
  admitted: Admission | Promise<Admission> | undefined,
): void {
  const cancellation = new Cancellation();
  const answer = new GrpcAnswer(stream, headers["content-type"] ?? "", method.output);
  // The stream closes when the answer is complete, too.
  stream.on("close", () => {
    if (!answer.ended) cancellation.abort(callerLeft());
  });
  stream.on("error", () => {});
  const begin = ({ request, defect }: Read, admission: Admission | undefined) => {
    const timeout = timeoutIn(headers);
    const unreadable = timeout instanceof LintelError;
    const call: EdgeCall = {
      headers,
      connection: stream.session?.socket,
      admission,
      request,
      defect: defect ?? (unreadable ? timeout : undefined),
      timeoutMs: unreadable ? undefined : timeout,
      signal: cancellation,
    };
    new Sending(start(call), answer, method.methodKind === "unary").start();
  };
  const read = (admission: Admission | undefined) => {
    if (admission instanceof LintelError) {
      // What comes is dropped, so that the client comes to read our answer.
      stream.resume();
      begin({ request: empty(method.input), defect: undefined }, admission);
      return;
    }
    readMessage(stream, bodyLimit, (message) => {
      afterReads(() => begin(requestOf(message, method, bodyLimit), admission), true);
    });
  };
  if (admitted instanceof Promise) void admitted.then(read);
  else read(admitted);
}

/** One answer on its way to its client. */
class Sending extends Delivery<readonly Message[]> {
  readonly #running: EdgeRunning;
  readonly #answer: GrpcAnswer;
  readonly #unary: boolean;
  readonly #headers = () => this.#running.headers();
  /** Of a unary method: the answer, until the call has ended. */
  #last: readonly Message[] = [];

  constructor(running: EdgeRunning, answer: GrpcAnswer, unary: boolean) {
    super(running.messages);
    this.#running = running;
    this.#answer = answer;
    this.#unary = unary;
  }

  protected take(step: IteratorResult<readonly Message[]>): Promise<void> | undefined {
    if (step.done) this.#answer.end(this.#last, this.#headers, this.#running.trailers());
    else if (this.#unary) this.#last = step.value;
    else return this.#answer.send(step.value, this.#headers);
    return undefined;
  }

  failed(thrown: unknown): void {
    const { error, trailers } = this.#running;
    this.#answer.fail(error(thrown), this.#headers, trailers());
  }
}

type Read = Pick<EdgeCall, "request" | "defect">;

function requestOf(message: Buffer | Malformed, { input }: DescMethod, limit: number): Read {
  if (typeof message !== "string") {
    const tooFar = unfoldsTooFar(input, message);
    if (tooFar) return { request: tooFar.message, defect: tooFar.defect };
    try {
      return { request: fromBinary(input, message), defect: undefined };
    } catch {
      // Without its cause, which would be a stack in the log for each.
      const defect = new LintelError("invalid_json", "the message can't be read");
      return { request: empty(input), defect };
    }
  }
  return { request: empty(input), defect: defects[message](limit) };
}

const empty = (input: DescMessage) => fromBinary(input, new Uint8Array(0));

/** The core throws these once it knows the caller, as it does with what other doors find. */
const defects: Readonly<Record<Malformed, (limit: number) => LintelError>> = {
  none: () => new LintelError("unimplemented", "the call has no request message"),
  several: () => new LintelError("unimplemented", "the call has more than one request message"),
  compressed: () =>
    new LintelError(
      "invalid_json",
      "protocol error: a message is compressed without grpc-encoding",
    ),
  incomplete: () => new LintelError("invalid_json", "protocol error: the message is incomplete"),
  too_large: messageTooLarge,
};
