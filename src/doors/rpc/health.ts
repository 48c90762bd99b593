/** grpc.health.v1: whether this process takes calls. Needs no token. */

import type { DescService } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  type HandlerContext,
} from "@connectrpc/connect";
import {
  Health,
  type HealthCheckRequest,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../gen/grpc/health/v1/health_pb.js";
import type { CallSignal } from "../../core/cancellation.js";
import type { Readiness } from "../../core/gateway.js";

/** Adds the health service to the router. @param services those that it tells of */
export function addHealth(
  router: ConnectRouter,
  readiness: Readiness,
  services: readonly DescService[],
  options?: Partial<ConnectRouterOptions>,
): void {
  // `""` is the whole process.
  const names = ["", ...services.map(({ typeName }) => typeName)];
  const status = () => (readiness.accepting ? Status.SERVING : Status.NOT_SERVING);

  router.service(
    Health,
    {
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
          await eitherLeaves(readiness.leaving, signal);
          signal.throwIfAborted();
          return;
        }
        if (readiness.accepting) yield { status: Status.SERVING };
        await eitherLeaves(readiness.leaving, signal);
        // A process that refuses calls is about to leave: the stream ends with that.
        signal.throwIfAborted();
        yield { status: Status.NOT_SERVING };
      },
    },
    options,
  );
}

/** Resolves when the process is about to leave, or the caller left. */
function eitherLeaves(leaving: CallSignal, caller: CallSignal): Promise<void> {
  if (leaving.aborted || caller.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const over = () => {
      leaving.removeEventListener("abort", over);
      caller.removeEventListener("abort", over);
      resolve();
    };
    leaving.addEventListener("abort", over);
    caller.addEventListener("abort", over);
  });
}
