/** For whoever watches the process. These say what runs here: they are not for callers. */
import type { FastifyPluginAsync } from "fastify";
import type { MetricsForm } from "../core/telemetry.js";
import { metricsFormOf, metricsTypes } from "./metrics-form.js";

/** `GET /metrics`, as Prometheus reads it. */
export const metrics =
  (text: (form: MetricsForm) => string | Promise<string>): FastifyPluginAsync =>
  async (app) => {
    app.get("/metrics", async ({ headers }, reply) => {
      const form = metricsFormOf(headers.accept);
      return reply
        .header("cache-control", "no-store")
        .type(metricsTypes[form])
        .send(await text(form));
    });
  };

/** `GET /status`, as JSON. */
export const status =
  (now: () => object): FastifyPluginAsync =>
  async (app) => {
    app.get("/status", (_request, reply) => reply.header("cache-control", "no-store").send(now()));
  };
