/** gRPC, gRPC-Web and Connect. */
import { type ContextValues, createConnectRouter, createContextValues } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { compressionGzip, universalRequestFromNodeRequest } from "@connectrpc/connect-node";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { LintelError } from "../../core/errors.js";
import { methods } from "../../core/methods.js";
import type { Door } from "../door.js";
import { sendError } from "../json/error.js";
import { type Arrival, arrivalKey } from "./context.js";
import { addContract } from "./contract.js";
import { answer } from "./defect.js";
import { addHealth } from "./health.js";
import { addReflection } from "./reflection.js";
import { writeResponse } from "./write.js";

/** Longest that Node's timers count, milliseconds: about 24 days. */
const longestTimeout = 2 ** 31 - 1;

/** Every method of the contract, server reflection and health, by the three protocols. */
export const rpc: Door = async (app, { gateway, settings }) => {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip],
    readMaxBytes: settings.bodyLimit,
    jsonOptions: {
      // Answers look like those of REST.
      useProtoFieldName: true,
      alwaysEmitImplicit: true,
      ignoreUnknownFields: true,
      textDecoder: new TextDecoder("utf-8", { fatal: true }),
    } as object,
  });
  addContract(router, gateway);
  addHealth(router, gateway.readiness);
  addReflection(router);

  // The library reads bodies itself, of whatever type they are.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _body, done) => done(null));
  for (const handler of router.handlers) mount(app, handler);
};

const contract = new Set<unknown>(Object.values(methods));

function mount(app: FastifyInstance, handler: UniversalHandler): void {
  const ours = contract.has(handler.method);
  app.route({
    method: handler.allowedMethods,
    url: handler.requestPath,
    async handler(request, reply) {
      const values = createContextValues();
      const incoming = incomingOf(request, reply, values);
      if (!incoming) {
        return sendError(
          reply,
          new LintelError("invalid_value", "the request's host is not valid"),
        );
      }
      const arrival: Arrival = { signal: incoming.signal, requestId: request.id, reached: false };
      values.set(arrivalKey, arrival);
      const response = ours ? await answer(handler, incoming, arrival) : await handler(incoming);

      reply.hijack();
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined && !reply.raw.headersSent) reply.raw.setHeader(name, value);
      }
      await writeResponse(response, reply.raw);
    },
  });
}

function incomingOf(request: FastifyRequest, reply: FastifyReply, values: ContextValues) {
  try {
    const incoming = universalRequestFromNodeRequest(request.raw, reply.raw, undefined, values);
    dropEndlessTimeout(incoming.header);
    return { ...incoming, body: bodyOf(request) };
  } catch {
    return undefined;
  }
}

/** The body as it comes. Who stops reading it does not close the connection: an answer follows. */
function bodyOf(request: FastifyRequest): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => request.raw.iterator({ destroyOnReturn: false }),
  };
}

/** A deadline that Node's timers can't count would pass at once. It is as good as none. */
function dropEndlessTimeout(header: Headers): void {
  const unit = { H: 3_600_000, M: 60_000, S: 1000 };
  const [, count, of] = /^(\d{1,8})([HMS])$/.exec(header.get("grpc-timeout") ?? "") ?? [];
  if (Number(count) * unit[of as keyof typeof unit] > longestTimeout) header.delete("grpc-timeout");
  if (Number(header.get("connect-timeout-ms")) > longestTimeout)
    header.delete("connect-timeout-ms");
}
