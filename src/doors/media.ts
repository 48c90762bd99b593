/** Generated images, for whoever has their address. */
import { LintelError } from "../core/errors.js";
import type { Door } from "./door.js";
import { sendError } from "./json/error.js";

/** Names as a store makes them: no path, no dot in front, an extension at most. */
const namePattern = /^[A-Za-z0-9_-]{16,128}(?:\.[a-z0-9]{1,5})?$/;

/**
 * An image never changes and lives for a day unless the operator says otherwise;
 * only who asked for it should keep it, so that no shared cache does.
 */
const headers = {
  "cache-control": "private, max-age=86400, immutable",
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; sandbox",
  "cross-origin-resource-policy": "cross-origin",
  "access-control-allow-origin": "*",
};

/** `GET` and `HEAD /media/:name`. The random name is the only secret: no token is asked for. */
export const media: Door = async (app, { gateway }) => {
  app.get<{ Params: { name: string } }>(
    "/media/:name",
    { exposeHeadRoute: true },
    async (request, reply) => {
      const { name } = request.params;
      const image = namePattern.test(name) ? await gateway.media?.get(name) : undefined;
      if (!image) return sendError(reply, new LintelError("not_found", "no such image"));
      const { buffer, byteOffset, byteLength } = image.data;
      return reply
        .headers(headers)
        .type(image.mimeType)
        .send(Buffer.from(buffer, byteOffset, byteLength));
    },
  );
  app.setErrorHandler((error, request, reply) => {
    gateway.log.error({ err: error, id: request.id }, "an image could not be read");
    return sendError(reply, new LintelError("internal", "internal error", { cause: error }));
  });
};
