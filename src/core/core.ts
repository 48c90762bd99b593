/** The core: the steps in their order, and the life of a call. */
import { authenticate, mayUse } from "./authenticate.js";
import type { Backend } from "./backend.js";
import { type Call, compose, type Handle } from "./call.js";
import { Catalogue } from "./catalogue.js";
import { completion } from "./completion.js";
import { LintelError } from "./errors.js";
import { finisher } from "./finish.js";
import type { Gateway, Origin, Running } from "./gateway.js";
import { images, mostPrompts } from "./images.js";
import { type LimitParts, limit } from "./limits/step.js";
import type { Logger } from "./log.js";
import type { MediaStore, SafetyChecker } from "./media.js";
import type { Input, MethodName, Output } from "./methods.js";
import { Observed } from "./observe.js";
import { requestIdOf } from "./request-id.js";
import { resolve } from "./resolve.js";
import { route } from "./route.js";
import type { CoreSettings } from "./settings.js";
import { validate } from "./validate.js";

/** What the core is made of. */
export interface CoreParts {
  readonly settings: CoreSettings;
  /** In order of preference where several have the same model. */
  readonly backends: readonly Backend[];
  readonly log: Logger;
  /** Absent: images are answered inline only. */
  readonly media?: MediaStore | undefined;
  readonly checker?: SafetyChecker | undefined;
  /** Checks a PNG and drops its metadata. */
  readonly sanitize: (png: Uint8Array) => Uint8Array;
  /** Makes a PNG unrecognisable. */
  readonly blur: (png: Uint8Array) => Promise<Uint8Array>;
  /** Absent: nothing is limited, also not by callers' own limits. */
  readonly limits?: Omit<LimitParts, "mostPrompts"> | undefined;
}

/** The gateway, with what its owner does to it besides calling. */
export interface Core extends Gateway {
  /** The models as a caller who may use all of them sees them. */
  readonly catalogue: Catalogue;
  /** Refuses new calls from now on. Resolves once no call runs. */
  drain(): Promise<void>;
  /** Aborts the calls that still run. */
  abort(): void;
}

/** Makes a core. Owns none of its parts: backends and stores are closed by who made them. */
export function createCore(parts: CoreParts): Core {
  const { settings, backends, log, media } = parts;
  const catalogue = new Catalogue(backends, settings);
  const running = new Map<Call, AbortController>();
  let accepting = true;
  let idle: (() => void) | undefined;
  const handle = compose(
    [
      authenticate(settings.auth),
      validate(settings),
      resolve(catalogue),
      ...(parts.limits ? [limit({ ...parts.limits, mostPrompts: mostPrompts(settings) })] : []),
      completion,
      images(settings, finisher({ ...parts, store: media, action: settings.safetyAction })),
    ],
    end(catalogue),
  );

  return {
    log,
    media,
    catalogue,
    readiness: {
      get accepting() {
        return accepting;
      },
      get running() {
        return running.size;
      },
    },
    call(method, request, origin) {
      const controller = new AbortController();
      const call = newCall(method, request, origin, controller, settings, log);
      let unfollow: (() => void) | undefined;
      const messages = new Observed(call, controller, () => handle(call), {
        begin() {
          if (!accepting) throw new LintelError("shutting_down", "this gateway is shutting down");
          running.set(call, controller);
          unfollow = follow(origin.signal, controller, call.deadline);
        },
        end() {
          unfollow?.();
          running.delete(call);
          if (running.size === 0) idle?.();
        },
      });
      const { id, warnings, metadata } = call;
      return { id, warnings, metadata, messages } as unknown as Running<typeof method>;
    },
    drain() {
      accepting = false;
      return new Promise((done) => {
        idle = done;
        if (running.size === 0) done();
      });
    },
    abort() {
      const reason = new LintelError("shutting_down", "this gateway is shutting down");
      for (const controller of running.values()) controller.abort(reason);
    },
  };
}

function newCall<M extends MethodName>(
  method: M,
  request: Input<M>,
  origin: Origin,
  { signal }: AbortController,
  settings: CoreSettings,
  log: Logger,
): Call {
  const own = origin.timeoutMs ?? Number.POSITIVE_INFINITY;
  return {
    method,
    request: request as Call["request"],
    id: requestIdOf(origin.requestId),
    credential: origin.credential,
    defect: origin.defect,
    idempotencyKey: origin.idempotencyKey,
    signal,
    deadline: Date.now() + Math.min(own, settings.totalTimeoutMs),
    log,
    attributes: { door: origin.door, attempts: 0 },
    warnings: [],
    metadata: new Map(),
  };
}

/**
 * Aborts a call when its caller leaves or its deadline passes.
 * @returns what ends the watching
 */
function follow(origin: AbortSignal, controller: AbortController, deadline = 0): () => void {
  const timer = setTimeout(
    () => controller.abort(new LintelError("timeout", "the deadline of the call passed")),
    Math.max(0, deadline - Date.now()),
  );
  const left = () => controller.abort(new LintelError("cancelled", "the caller left"));
  if (origin.aborted) left();
  else origin.addEventListener("abort", left, { once: true });
  return () => {
    clearTimeout(timer);
    origin.removeEventListener("abort", left);
  };
}

/** The end of the chain: the core's own method, and everything else to a backend. */
function end(catalogue: Catalogue): Handle {
  return (call) => (call.method === "listModels" ? list(call, catalogue) : route(call));
}

async function* list(
  call: Call,
  catalogue: Catalogue,
): AsyncGenerator<readonly Output<"listModels">[]> {
  const models = catalogue.list((name) => mayUse(call.caller, name));
  yield [{ $typeName: "lintel.v1.ListModelsResponse", models }];
}
