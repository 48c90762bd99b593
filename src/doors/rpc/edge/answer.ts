/** Writes what a gRPC server sends: headers, messages, trailers. */
import type { ServerHttp2Stream } from "node:http2";
import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { drained, mostWritten, piecesOf } from "../../drained.js";
import { readable, statusAlone } from "../trailers.js";
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
  #trailers: Metadata = {};

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
   * @throws if a message can't be encoded; nothing was sent of them then
   */
  send(messages: readonly Message[], headers: () => Metadata): Promise<void> | undefined {
    if (this.gone) return undefined;
    const bytes = messages.length > 0 ? this.#envelopes(messages) : undefined;
    this.#begin(headers);
    if (bytes === undefined) return undefined;
    if (bytes.length > mostWritten) return this.#writePieces(bytes);
    return this.#stream.write(bytes) ? undefined : drained(this.#stream);
  }

  /**
   * Ends a call that went well, with its last messages.
   * @throws as `send` does; the call can still be ended as one that went wrong
   */
  end(messages: readonly Message[], headers: () => Metadata, trailers: Metadata): void {
    const bytes = messages.length > 0 && !this.gone ? this.#envelopes(messages) : undefined;
    this.#ended = true;
    if (this.gone) return;
    this.#begin(headers);
    this.#trailers = Object.assign(trailers, { "grpc-status": "0" });
    if (bytes === undefined) this.#stream.end();
    else if (bytes.length <= mostWritten) this.#stream.end(bytes);
    else void this.#writePieces(bytes).then(() => this.#stream.end());
  }

  /** Ends a call that went wrong. */
  fail(error: ConnectError, headers: () => Metadata, trailers: Metadata): void {
    this.#ended = true;
    if (this.gone) return;
    const status = new Headers();
    setTrailerStatus(status, error);
    const said = { ...Object.fromEntries(readable(status)), ...trailers };
    if (this.#begun) {
      this.#trailers = said;
      this.#stream.end();
      return;
    }
    this.#begun = true;
    this.#stream.respond(statusAlone(this.#headed(headers), said), { endStream: true });
  }

  #begin(headers: () => Metadata): void {
    if (this.#begun) return;
    const all = this.#headed(headers);
    this.#begun = true;
    this.#stream.respond(all, { waitForTrailers: true });
    this.#stream.once("wantTrailers", () => this.#stream.sendTrailers(this.#trailers));
  }

  #headed(headers: () => Metadata): Metadata & { ":status": number } {
    return Object.assign(headers(), { ":status": 200, "content-type": this.#type });
  }

  async #writePieces(bytes: Buffer): Promise<void> {
    for (const piece of piecesOf(bytes)) {
      if (this.gone) return;
      if (!this.#stream.write(piece)) await drained(this.#stream);
    }
  }
}
