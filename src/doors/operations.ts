/** For whoever operates the process: is it alive, does it take calls. */
import type { Door } from "./door.js";

/** `GET /healthz` is 200 while the process lives; `GET /readyz` is 503 once it is about to leave. */
export const operations: Door = async (app, { gateway }) => {
  app.get("/healthz", (_request, reply) =>
    reply.header("cache-control", "no-store").send({ status: "ok" }),
  );

  app.get("/readyz", (_request, reply) => {
    reply.header("cache-control", "no-store");
    if (gateway.readiness.accepting) return reply.send({ status: "ready" });
    return reply
      .code(503)
      .header("retry-after", 5)
      .send({ status: "shutting_down", reason: "this gateway is shutting down" });
  });
};
