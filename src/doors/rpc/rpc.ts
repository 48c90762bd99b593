/** gRPC, gRPC-Web and Connect. */
import { createContextValues } from "@connectrpc/connect";
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import { compressionGzip } from "@connectrpc/connect-node";
import type { FastifyRequest } from "fastify";
import { LintelError } from "../../core/errors.js";
import type { Door } from "../door.js";
import { requestKey } from "./context.js";
import { addContract } from "./contract.js";
import { guarded } from "./guard.js";
import { addHealth } from "./health.js";
import { addReflection } from "./reflection.js";

/** Every method of the contract, server reflection and health, by the three protocols. */
export const rpc: Door = async (app, { gateway, settings }) => {
  // The plugin takes every HTTP method, to refuse them in words of its own.
  app.addHook("onRoute", (route) => {
    route.method = "POST";
  });
  app.addHook("onRequest", async ({ raw }) => {
    if (!hasHost(raw)) throw new LintelError("invalid_value", "the request's host is not valid");
  });
  // The library reads bodies itself, of whatever type they are.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _body, done) => done(null));
  await app.register(fastifyConnectPlugin, {
    acceptCompression: [compressionGzip],
    readMaxBytes: settings.bodyLimit,
    jsonOptions: {
      // Answers look like those of REST.
      useProtoFieldName: true,
      alwaysEmitImplicit: true,
      ignoreUnknownFields: true,
      textDecoder: new TextDecoder("utf-8", { fatal: true }),
    } as object,
    contextValues: (request) => createContextValues().set(requestKey, request),
    routes(router) {
      addContract(router, gateway);
      addHealth(router, gateway.readiness);
      addReflection(router);
      router.handlers.splice(0, Infinity, ...router.handlers.map((h) => guarded(h, gateway.log)));
    },
  });
};

/** Whether the URL can be built that the plugin builds of every request; it hangs on others. */
function hasHost(raw: FastifyRequest["raw"]): boolean {
  const authority = "authority" in raw ? raw.authority : raw.headers.host;
  return authority !== undefined && URL.canParse(raw.url ?? "", `http://${authority}`);
}
