/** Generated images, for whoever has their address. */

import type { ServerHttp2Stream } from "node:http2";
import type { FastifyReply, FastifyRequest } from "fastify";
import { LintelError, toLintelError } from "../core/errors.js";
import { levelOf } from "../core/log-call.js";
import { type ByteRange, noImage, type StoredMedia } from "../core/media.js";
import type { Door } from "./door.js";
import { sendError } from "./json/error.js";
import { leaving } from "./json/origin.js";

/** Names as a store makes them: no path, no dot in front, an extension at most. */
const namePattern = /^[A-Za-z0-9_-]{16,128}(?:\.[a-z0-9]{1,5})?$/;

/** Of every answer: who may read an image may read why there is none. */
const readable = {
  "cross-origin-resource-policy": "cross-origin",
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "accept-ranges, content-length, content-range, etag, x-request-id",
};

/**
 * `X-Content-Type-Options` and the policy keep a browser from running what a model server sent.
 * Styles are let in for Chromium's and WebKit's own page around an image, which would lose theirs.
 */
const headers = {
  "accept-ranges": "bytes",
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
};

/** `GET` and `HEAD /media/:name`. The random name is the only secret: no token is asked for. */
export const media: Door = async (app, { gateway }) => {
  app.get<{ Params: { name: string } }>(
    "/media/:name",
    { exposeHeadRoute: false },
    (request, reply) => answer(request, request.headers, reply, true),
  );
  app.head<{ Params: { name: string } }>("/media/:name", (request, reply) =>
    answer(request, { "if-none-match": request.headers["if-none-match"] }, reply, false),
  );
  app.setErrorHandler((error, request, reply) => {
    if (hasLeft(reply)) return reply.hijack();
    const told = toLintelError(error);
    if (told.code !== "not_found") {
      gateway.log[levelOf(told)]({ err: error, id: request.id }, "an image could not be read");
    }
    // Said before its first byte was read.
    reply.removeHeader("etag").removeHeader("content-range");
    return refuse(reply, told);
  });

  async function answer(
    request: FastifyRequest<{ Params: { name: string } }>,
    asked: {
      readonly range?: string;
      readonly "if-none-match"?: string | undefined;
      readonly "if-range"?: string;
    },
    reply: FastifyReply,
    withBody: boolean,
  ): Promise<FastifyReply> {
    const { name } = request.params;
    const isName = namePattern.test(name);
    const image = isName ? await gateway.media?.get(name, leaving(request, reply)) : undefined;
    if (!image) return refuse(reply, noImage());
    if (hasLeft(reply)) {
      await image.close();
      return reply.hijack();
    }
    // What stands under a name never changes.
    const etag = `"${name}"`;
    const kept = { etag, "cache-control": cacheControl(image, Date.now()) };
    reply.headers(readable).headers(headers);
    if (tagsOf(asked["if-none-match"]).some((tag) => tag === etag || tag === "*")) {
      await image.close();
      return reply.headers(kept).code(304).send();
    }
    const whole = asked["if-range"] !== undefined && asked["if-range"] !== etag;
    const range = whole ? undefined : rangeOf(asked.range, image.size);
    if (range === "unsatisfiable") {
      await image.close();
      reply.header("content-range", `bytes */${image.size}`);
      return refuse(
        reply,
        new LintelError("range_not_satisfiable", "the range is outside of the image"),
      );
    }
    reply.headers(kept).type(image.mimeType).header("content-length", lengthOf(range, image.size));
    if (range)
      reply.code(206).header("content-range", `bytes ${range.start}-${range.end}/${image.size}`);
    if (withBody) return reply.send(image.read(range));
    await image.close();
    return reply.send();
  }
};

/** Whether nobody can be answered any more, of whose end no stream would hear that is sent only now. */
const hasLeft = ({ raw }: FastifyReply): boolean => {
  if (!("stream" in raw)) return raw.destroyed;
  const { closed, destroyed } = raw.stream as ServerHttp2Stream;
  return closed || destroyed;
};

/** Sends an error that nobody keeps in the image's place. */
const refuse = (reply: FastifyReply, error: LintelError): FastifyReply =>
  sendError(reply.headers(readable).header("cache-control", "no-store"), error);

/** Only who asked for an image should keep it, so that no shared cache does, and not for longer than we do. */
function cacheControl({ expiresAt }: StoredMedia, now: number): string {
  const seconds = Math.max(0, Math.floor((expiresAt - now) / 1000));
  return `private, max-age=${seconds}, immutable`;
}

const lengthOf = (range: ByteRange | undefined, size: number): number =>
  range ? range.end - range.start + 1 : size;

/** One range; several at once, other units and nonsense get the whole image, as RFC 9110 allows. */
function rangeOf(
  header: string | undefined,
  size: number,
): ByteRange | "unsatisfiable" | undefined {
  const [range, first = "", last = ""] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? "") ?? [];
  if (!range || (first === "" && last === "")) return undefined;
  // The last so many bytes, or all where there are not so many.
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size - 1 : Number(last);
  if (first !== "" && last !== "" && end < start) return undefined;
  return start < size ? { start, end: Math.min(end, size - 1) } : "unsatisfiable";
}

const tagsOf = (header: string | undefined): string[] =>
  (header ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
