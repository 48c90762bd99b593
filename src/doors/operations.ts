/** For whoever operates the process: is it alive, does it take calls. */
import type { FastifyReply } from "fastify";
import { shuttingDown } from "../core/errors.js";
import type { Door } from "./door.js";
import { retryAfterHeader } from "./retry-after.js";

/**
 * `GET /healthz` is 200 while the process lives; `GET /readyz` is 503 once it is about to leave, and so is `GET /health`,
 * where clients of model servers ask before they send anything.
 */
export const operations: Door = async (app, { gateway }) => {
  const ready = (_request: unknown, reply: FastifyReply) => {
    reply.header("cache-control", "no-store");
    if (gateway.readiness.accepting) return reply.send({ status: "ready" });
    const error = shuttingDown();
    return reply
      .code(error.http)
      .headers(retryAfterHeader(error))
      .send({ status: error.code, reason: error.message });
  };

  app.get("/healthz", (_request, reply) =>
    reply.header("cache-control", "no-store").send({ status: "ok" }),
  );
  app.get("/readyz", ready);
  app.get("/health", ready);
};
