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
