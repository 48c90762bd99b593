/** The app that every listener serves: all but the doors and the sockets. */

import { METHODS } from "node:http";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { LintelError } from "../core/errors.js";
import { requestIdOf } from "../core/request-id.js";
import { fromFastify } from "../doors/json/error.js";
import { allowOrigins } from "./cors.js";
import { sendFailure } from "./failure.js";
import { nothingAt, Paths } from "./paths.js";
import { type AppSettings, appDefaults } from "./settings.js";

/** The contract checks requests and writes answers: Fastify's way, and the compilers it loads, are not used. */
const noSchemas = () => {
  throw new Error("routes have no schemas: the contract and the core's rules check requests");
};

/**
 * Makes the app. Doors are registered on it, then it is handed to `listen`;
 * tests can `inject` instead. Its own `listen` is not for use: it would speak
 * HTTP/1 only.
 */
export async function createApp(settings: Partial<AppSettings> = {}): Promise<FastifyInstance> {
  const { bodyLimit, corsOrigins } = { ...appDefaults, ...settings };
  const app = fastify({
    logger: false,
    bodyLimit,
    schemaController: {
      compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas },
    },
    genReqId: ({ headers }) => requestIdOf(headers["x-request-id"]),
    // The URL can't be read, or a part of it is too long for any route. It goes the way of other
    // paths where nothing is, so that pages in browsers can ask first, and read the answer.
    frameworkErrors: (error, { raw }, reply) => {
      const code = error.statusCode === 400 ? "invalid_value" : "not_found";
      wrongPaths.set(raw, new LintelError(code, "the path is not valid", { cause: error }));
      raw.url = noRoute;
      app.routing(raw, reply.raw);
    },
  });
  const paths = new Paths();
  const refuseAt = (request: FastifyRequest, reply: FastifyReply) =>
    sendFailure(reply, notServed(request, paths), paths.formOf(pathOf(request.url)));
  app.addHook("onRoute", (route) => {
    const { url, config: { absent = false, alias = false, errorForm } = {} } = route;
    // Another route may have the path, and take other methods.
    if (absent) {
      route.onRequest = (request, reply, done) => {
        if (paths.methodsOf(pathOf(request.url)).length > 0) refuseAt(request, reply);
        else done();
      };
    }
    // Doors' own hooks come after this one, and may narrow the methods.
    queueMicrotask(() => paths.add(url, absent ? [] : route.method, errorForm, alias));
  });
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    done();
  });
  if (corsOrigins !== false) allowOrigins(app, corsOrigins);
  // Before bodies are read: what is wrong with one is not what to say of a path that takes none.
  app.addHook("onRequest", (request, reply, done) => {
    // Preflights, for which any path is a route, were answered by the hook before.
    const lost = request.is404 || request.method === "OPTIONS";
    const fault = hostFault(request.raw);
    if (fault) sendFailure(reply, fault);
    else if (lost) refuseAt(request, reply);
    else done();
  });
  app.setErrorHandler((error, request, reply) => {
    // HTTP/2 lets any method through. Fastify has no routes for those that HTTP/1 does not know.
    const known = METHODS.includes(request.method);
    if (known) sendFailure(reply, fromFastify(error, bodyLimit));
    else refuseAt(request, reply);
  });
  return app;
}

/** HTTP/1.1 asks for these refusals; Node's own has no body and no id, and of two hosts it takes the first. */
function hostFault(request: FastifyRequest["raw"]): LintelError | undefined {
  if (request.httpVersion !== "1.1") return undefined;
  const hosts = hostsOf(request.rawHeaders);
  if (hosts === 1) return undefined;
  const fault = hosts === 0 ? "no Host header" : "more than one Host header";
  return new LintelError("invalid_value", `the request has ${fault}`);
}

/** How many lines there are: looked for by hand, since Node would first sort all headers. */
function hostsOf(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  return hosts;
}

/** Without the origin that stands before it in the absolute form, and without the query. */
const pathOf = (url: string): string =>
  url.replace(/^https?:\/\/[^/?]*/i, "").split("?", 1)[0] || "/";

/** What is wrong with the path of a request. */
const wrongPaths = new WeakMap<FastifyRequest["raw"], LintelError>();

/** A path that can be read, and that no route has. */
const noRoute = "/%25";

/** Nothing is at the path, or it takes other methods, or it can't be read. */
function notServed({ method, url, raw }: FastifyRequest, paths: Paths): LintelError {
  const wrong = wrongPaths.get(raw);
  if (wrong) return wrong;
  const path = pathOf(url);
  const allowed = paths.methodsOf(path);
  if (allowed.length === 0) return nothingAt(method, path, paths);
  const allow = allowed.join(", ");
  return new LintelError("method_not_allowed", `this path takes ${allow}`, { allow });
}
