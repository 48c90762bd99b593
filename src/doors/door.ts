/** What every door is: a Fastify plugin that gets the gateway. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { FastifyPluginAsync } from "fastify";
import type { Administration } from "../core/admin/administration.js";
import type { Gateway } from "../core/gateway.js";
import type { Bounds } from "../core/settings.js";
import type { ClientOf } from "./client-address.js";
import type { BaseUrlOf } from "./forwarded.js";

/** Settings of the wire formats. */
export interface DoorSettings {
  /** Largest request body, bytes. Default 1 MiB. */
  readonly bodyLimit: number;
  /** Silence on an SSE stream after which a comment is sent, milliseconds. Default 15000. */
  readonly keepAliveMs: number;
  /** How long a stream's status is held back for the first message, milliseconds. Default 10000. */
  readonly holdMs: number;
  /** How callers reach the gateway; absent: no proxy is asked. */
  readonly baseUrlOf?: BaseUrlOf | undefined;
  /** Where clients are; absent: where their connections come from. */
  readonly clientOf?: ClientOf | undefined;
  /** Of request fields, the operator's, to be told; absent: the contract's. */
  readonly bounds?: Bounds | undefined;
}

/** Most that `bodyLimit` may be: below the longest text of Node (`buffer.constants.MAX_STRING_LENGTH`). */
export const largestBody = 512e6;

/** The contract's values. */
export const doorDefaults: DoorSettings = {
  bodyLimit: 1024 * 1024,
  keepAliveMs: 15_000,
  holdMs: 10_000,
};

/** What a door is registered with. */
export interface DoorOptions {
  readonly gateway: Gateway;
  readonly settings: DoorSettings;
  /** Absent: there is none, or it is served elsewhere. */
  readonly administration?: Administration | undefined;
}

/** A way in. */
export type Door = FastifyPluginAsync<DoorOptions>;

/** Takes an HTTP/2 stream before a request is made of it, or leaves it alone and says `false`. */
export type StreamHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => boolean;
