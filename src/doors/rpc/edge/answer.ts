/** Writes what a gRPC server sends: headers, messages, trailers. */
import type { ServerHttp2Stream } from "node:http2";
import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { drained } from "../../drained.js";
import { readable } from "../trailers.js";
import { type Envelopes, envelopesOf } from "./envelopes.js";

/** Names in lower case; a list where a name comes more than once. */
export type Metadata = Record<string, string | string[]>;

/** The answer to one call. */
export class GrpcAnswer {
  readonly #stream: ServerHttp2Stream;
  readonly #type: string;
  readonly #envelopes: Envelopes;
  #begun = false;
  #ended = false;

  /** @param type the request's content type, which is the answer's too */
  constructor(stream: ServerHttp2Stream, type: string, output: DescMessage) {
    this.#stream = stream;
    this.#type = type;
    this.#envelopes = envelopesOf(output);
  }

  /** Whether all that there is to say was said. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Whether nobody can be answered any more. */
  get gone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  /**
   * Sends messages, the first time after the headers.
   * @param headers asked for once
   * @returns if the client has to read first: resolves when it did, or left
   */
  send(messages: readonly Message[], headers: () => Metadata): Promise<void> | undefined {
    if (this.gone) return undefined;
    this.#begin(headers);
    if (messages.length === 0 || this.#stream.write(this.#envelopes(messages))) return undefined;
    return drained(this.#stream);
  }

  /** Ends a call that went well, with its last messages. */
  end(messages: readonly Message[], headers: () => Metadata, trailers: Metadata): void {
    this.#ended = true;
    if (this.gone) return;
    this.#begin(headers);
    const all: Metadata = Object.assign(trailers, { "grpc-status": "0" });
    this.#stream.once("wantTrailers", () => this.#stream.sendTrailers(all));
    if (messages.length === 0) this.#stream.end();
    else this.#stream.end(this.#envelopes(messages));
  }

  /** Ends a call that went wrong. */
  fail(error: ConnectError, headers: () => Metadata, trailers: Metadata): void {
    this.#ended = true;
    if (this.gone) return;
    const status = new Headers();
    setTrailerStatus(status, error);
    const all = { ...Object.fromEntries(readable(status)), ...trailers };
    this.#begin(headers);
    this.#stream.once("wantTrailers", () => this.#stream.sendTrailers(all));
    this.#stream.end();
  }

  #begin(headers: () => Metadata): void {
    if (this.#begun) return;
    this.#begun = true;
    const all = Object.assign(headers(), { ":status": 200, "content-type": this.#type });
    this.#stream.respond(all, { waitForTrailers: true });
  }
}
