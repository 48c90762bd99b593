/** A connection to a node: every method of the contract, made of its descriptor. */

import type { DescMethod } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import type { ListModelsRequest, ListModelsResponse } from "../../../gen/lintel/v1/models_pb.js";
import { unlessAborted } from "../../core/abort.js";
import type { Backend, Handlers } from "../../core/backend.js";
import type { Call } from "../../core/call.js";
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError } from "../../core/errors.js";
import { begunHeader } from "../../core/hop.js";
import {
  backendServices,
  type Input,
  type MethodName,
  methods,
  type Output,
} from "../../core/methods.js";
import { readingHeader, readingOf } from "../../core/prompts.js";
import { sessionHeaders } from "../cache-key.js";
import { callHeaders } from "../call-headers.js";
import { timeLeft } from "../deadline.js";
import { type PassUser, toldUser } from "../end-user.js";
import type { ClientTls } from "../http/client-tls.js";
import { notConnected } from "../http/transport-error.js";
import { Running } from "../running.js";
import { wasNotBegun } from "./channel.js";
import { failureOf, isLost, ranOut } from "./failure.js";
import { type Link, Links } from "./links.js";

/** How a node is reached. */
export interface PeerSettings {
  readonly address: string;
  readonly token?: string | undefined;
  /** Silence after which the connection is probed, milliseconds. */
  readonly pingIntervalMs: number;
  /** Longest time to connect, milliseconds; a call may have less. */
  readonly connectMs: number;
  /** Whether the node checks a model's images itself; if not, it is not asked to. */
  readonly checksSafety: (model: string) => boolean;
  /** How it is told whom calls are for. Default: as callers name them. */
  readonly passUser?: PassUser | undefined;
  /** For https://. Default: what Node trusts, and no certificate to show. */
  readonly tls?: ClientTls | undefined;
}

/** A node, as a client sees it. */
export class Peer {
  readonly handlers: Backend["handlers"];
  readonly #links: Links;
  readonly #connectMs: number;
  readonly #token: string | undefined;
  readonly #checksSafety: PeerSettings["checksSafety"];
  readonly #passUser: PassUser;
  readonly #running = new Running();
  readonly #lost: () => void;

  /** @param lost called when a call found nobody there, or lost the connection */
  constructor(settings: PeerSettings, lost: () => void = () => {}) {
    this.#links = new Links(settings.address, settings.pingIntervalMs, settings.tls);
    this.#connectMs = settings.connectMs;
    this.#token = settings.token;
    this.#checksSafety = settings.checksSafety;
    this.#passUser = settings.passUser ?? "plain";
    this.#lost = lost;
    this.handlers = Object.fromEntries(
      backendServices
        .flatMap((service) => service.methods as DescMethod[])
        .map((method) => [method.localName, (call: Call) => this.#handle(method, call)]),
    ) as Handlers;
  }

  /**
   * The models that the node serves.
   * @throws LintelError `unimplemented` if it has no such service
   */
  async listModels(signal: CallSignal): Promise<ListModelsResponse> {
    const request: ListModelsRequest = { $typeName: "lintel.v1.ListModelsRequest", id: "" };
    const call = { request, signal } as unknown as Call;
    for await (const [message] of this.#handle(methods.listModels, call)) {
      return message as ListModelsResponse;
    }
    throw new LintelError("upstream_failed", "the model server failed");
  }

  /** Ends what runs, and the connection; one that takes no calls any more ends with those it has. */
  close(): void {
    this.#running.endAll(new LintelError("shutting_down", "the connection is being closed"));
    this.#links.close();
  }

  async *#handle(method: DescMethod, call: Call): AsyncGenerator<readonly Output<MethodName>[]> {
    const followed = this.#running.follow(call.signal);
    const { signal } = followed;
    try {
      for (let repeats = 0; ; repeats++) {
        const link = this.#links.take();
        /** Whether the node has nothing more to do. */
        let over = false;
        try {
          const ms = Math.min(call.connectMs ?? Infinity, this.#connectMs);
          if (!link.isReady) await unlessAborted(this.#connect(link, ms), signal);
          const { transport } = link;
          if (method.methodKind === "unary") {
            const message = await this.#unary(transport, method, call, signal);
            // Who has it asks for no more.
            over = true;
            yield [message];
          } else {
            const messages = this.#stream(transport, method, call, signal);
            for await (const message of messages) yield [message];
            over = true;
          }
          return;
        } catch (thrown) {
          if (signal.aborted) throw signal.reason;
          over = !ranOut(thrown);
          // By the next connection, as a server wants it that leaves this one.
          if (repeats === 0 && wasNotBegun(thrown)) continue;
          const error = failureOf(thrown);
          if (isLost(error, thrown)) this.#lost();
          throw error;
        } finally {
          // Who asks for no more does not say so by the signal: the node would go on.
          if (!over) followed.abort(new LintelError("cancelled", "nobody reads the answer"));
          link.end(!over);
        }
      }
    } finally {
      followed.end();
    }
  }

  /** Waits for a connection; that one is refused is for the request to say. */
  async #connect(link: Link, ms: number): Promise<void> {
    const { session } = link;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        // The system asks ever more seldom whether somebody is there: others begin anew.
        this.#links.leave(link);
        reject(notConnected());
      }, ms);
    });
    try {
      await Promise.race([session.connect(), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #unary(
    transport: Transport,
    method: DescMethod,
    call: Call,
    signal: AbortSignal,
  ): Promise<Output<MethodName>> {
    const { message } = await transport.unary(
      method as DescMethod & { methodKind: "unary" },
      signal,
      timeoutOf(call),
      this.#headers(call),
      this.#requestOf(method, call),
    );
    return message as Output<MethodName>;
  }

  async *#stream(
    transport: Transport,
    method: DescMethod,
    call: Call,
    signal: AbortSignal,
  ): AsyncGenerator<Output<MethodName>> {
    const { message } = await transport.stream(
      method as DescMethod & { methodKind: "server_streaming" },
      signal,
      timeoutOf(call),
      this.#headers(call),
      only(this.#requestOf(method, call)),
    );
    yield* message as AsyncIterable<Output<MethodName>>;
  }

  #requestOf(method: DescMethod, call: Call): Message {
    const request = this.#withUser(call.request);
    if (method.input.field.includeData === undefined) return request as Message;
    const { modelId, safetyCheck } = request as Input<"textToImage">;
    // Images come in the message: the node's addresses are of no use to callers.
    return {
      ...request,
      includeData: true,
      safetyCheck: safetyCheck !== false && this.#checksSafety(modelId),
    } as Message;
  }

  #withUser(request: Input<MethodName>): Input<MethodName> {
    if (this.#passUser === "plain" || !("user" in request)) return request;
    return { ...request, user: toldUser(request.user, this.#passUser) ?? "" };
  }

  #headers(call: Call): Record<string, string> {
    const { id } = call;
    const reading = readingOf(call);
    return {
      ...sessionHeaders(call),
      ...callHeaders(call),
      ...(id && { "x-request-id": id }),
      // What the operator set for the model: the node knows nothing of it.
      ...(reading && { [readingHeader]: reading }),
      ...(call.begun && { [begunHeader]: "1" }),
      ...(this.#token && { authorization: `Bearer ${this.#token}` }),
    };
  }
}

/** Longest deadline that gRPC's header has room for in milliseconds, more than a day. Ours holds all the same. */
const longestTimeoutMs = 99_999_999;

function timeoutOf(call: Call): number | undefined {
  const ms = timeLeft(call);
  return ms !== undefined && ms > longestTimeoutMs ? undefined : ms;
}

type Message = Parameters<Transport["unary"]>[4];

async function* only<T>(message: T): AsyncGenerator<T> {
  yield message;
}
