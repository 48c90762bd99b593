/** What scripts of other origins may do: who is answered so that a browser lets them read it. */
import { cors as rpcCors } from "@connectrpc/connect";
import plugin from "@fastify/cors";
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from "fastify";
import { standingHeaders } from "../core/limits/headers.js";

/** What scripts in a browser may read of an answer, besides what is always allowed. */
const exposedHeaders = [
  "x-request-id",
  "request-id",
  "x-lintel-warnings",
  "x-lintel-attempts",
  "retry-after",
  "retry-after-ms",
  "allow",
  "www-authenticate",
  "x-should-retry",
  "idempotent-replayed",
  "cache-status",
  ...standingHeaders.flatMap(({ limit, remaining, reset }) => [limit, remaining, reset]),
  ...rpcCors.exposedHeaders,
];

/** Says of an answer outside of the app who may read it, by the request's `Origin`. */
export type CorsHeaders = (origin: string | undefined) => Readonly<Record<string, string>>;

declare module "fastify" {
  interface FastifyInstance {
    /** Absent where no other origin may read anything. */
    readonly corsHeaders?: CorsHeaders;
  }
}

/** How long browsers may remember a preflight, seconds. */
const preflightMaxAge = 7200;

/**
 * Answers preflights, and says of answers who may read them.
 * @param origins `"*"`: of every origin
 */
export function allowOrigins(app: FastifyInstance, origins: "*" | readonly string[]): void {
  const options = {
    origin: origins === "*" ? "*" : [...origins],
    methods: ["GET", "POST", "DELETE"],
    // Joined once: the plugin would join a list for each answer.
    exposedHeaders: exposedHeaders.join(", "),
    maxAge: preflightMaxAge,
    strictPreflight: false,
  };
  plugin(withHook(app, concernsPages), options, (error) => {
    if (error) throw error;
  });
  app.decorate("corsHeaders", corsHeaders(origins));
}

const exposed = { "access-control-expose-headers": exposedHeaders.join(", ") };

/**
 * Of an answer to a request whose headers could not be read: whose page it is from nobody knows,
 * and what the answer says any may know.
 */
export const readableByAll: Readonly<Record<string, string>> = {
  "access-control-allow-origin": "*",
  ...exposed,
};

function corsHeaders(origins: "*" | readonly string[]): CorsHeaders {
  return (origin) => {
    if (origin === undefined) return {};
    if (origins === "*") return readableByAll;
    const read = origins.includes(origin) && { "access-control-allow-origin": origin, ...exposed };
    return { vary: "Origin", ...read };
  };
}

/**
 * Whether a page of another origin may get to see the answer: browsers say theirs with each
 * request that such a page makes. Other answers go without the headers, which cost a
 * twentieth of a call, but for those that a cache may hand to a page later. `OPTIONS` that
 * asks for no method is no preflight, and a method that no path takes.
 */
const concernsPages = ({ method, headers }: FastifyRequest) =>
  method === "OPTIONS"
    ? headers["access-control-request-method"] !== undefined
    : headers.origin !== undefined || method !== "POST";

/** The app for a plugin whose hook is run for some requests only. */
function withHook(
  app: FastifyInstance,
  applies: (request: FastifyRequest) => boolean,
): FastifyInstance {
  const addHook = (name: "onRequest", hook: onRequestHookHandler) =>
    app.addHook(name, (request, reply, done) => {
      if (applies(request)) hook.call(app, request, reply, done);
      else done();
    });
  return Object.create(app, { addHook: { value: addHook } });
}
