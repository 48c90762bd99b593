/** grpc.health.v1: whether this process takes calls. Needs no token. */

import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import {
  Health,
  type HealthCheckRequest,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../gen/grpc/health/v1/health_pb.js";
import type { CallSignal } from "../../core/cancellation.js";
import type { Readiness } from "../../core/gateway.js";
import { services } from "../../core/methods.js";

/** How often watched readiness is looked at, milliseconds. */
const interval = 250;

/** `""` is the whole process. */
const names = ["", ...services.map((s) => s.typeName as string)];

/** Adds the health service to the router. */
export function addHealth(router: ConnectRouter, readiness: Readiness): void {
  const status = () => (readiness.accepting ? Status.SERVING : Status.NOT_SERVING);

  router.service(Health, {
    check({ service }: HealthCheckRequest) {
      if (!names.includes(service)) throw new ConnectError("unknown service", Code.NotFound);
      return { status: status() };
    },
    list() {
      return { statuses: Object.fromEntries(names.map((n) => [n, { status: status() }])) };
    },
    async *watch({ service }: HealthCheckRequest, { signal }: HandlerContext) {
      if (!names.includes(service)) {
        yield { status: Status.SERVICE_UNKNOWN };
        await until(() => signal.aborted || !readiness.accepting, signal);
        return;
      }
      if (readiness.accepting) yield { status: Status.SERVING };
      await until(() => signal.aborted || !readiness.accepting, signal);
      // A process that refuses calls is about to leave: the stream ends with that.
      if (!signal.aborted) yield { status: Status.NOT_SERVING };
    },
  });
}

function until(condition: () => boolean, signal: CallSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!condition()) return;
      clearInterval(timer);
      signal.removeEventListener("abort", look);
      resolve();
    };
    const timer = setInterval(look, interval);
    signal.addEventListener("abort", look);
    look();
  });
}
