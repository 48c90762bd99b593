/** For whoever watches the process. These say what runs here: they are not for callers. */
import type { FastifyPluginAsync } from "fastify";

/** Media type of Prometheus' text. */
const prometheusType = "text/plain; version=0.0.4; charset=utf-8";

/** `GET /metrics`, as Prometheus reads it. */
export const metrics =
  (text: () => string | Promise<string>): FastifyPluginAsync =>
  async (app) => {
    app.get("/metrics", async (_request, reply) =>
      reply
        .header("cache-control", "no-store")
        .type(prometheusType)
        .send(await text()),
    );
  };

/** `GET /status`, as JSON. */
export const status =
  (now: () => object): FastifyPluginAsync =>
  async (app) => {
    app.get("/status", (_request, reply) => reply.header("cache-control", "no-store").send(now()));
  };
