/** The core: the steps in their order, and the life of a call. */
import { type AccountParts, accountOf } from "./account.js";
import { admit, authenticate, identifier, mayUse, type Sought } from "./authenticate.js";
import { cache } from "./cache/step.js";
import type { AnswerCache } from "./cache/store.js";
import { type Call, compose, type Handle } from "./call.js";
import type { OwnTokens } from "./callers/own.js";
import type { CallerSource } from "./callers/source.js";
import { completion } from "./completion/step.js";
import { Course } from "./course.js";
import { shuttingDown } from "./errors.js";
import { type FinishTools, finisher } from "./finish.js";
import type { Gateway } from "./gateway.js";
import type { Guard } from "./guards/guard.js";
import { guard } from "./guards/step.js";
import { type Idempotency, type IdempotencyParts, idempotency } from "./idempotency/step.js";
import { images } from "./images.js";
import { InFlight } from "./in-flight.js";
import { Life } from "./life.js";
import { BudgetAlerts } from "./limits/alerts.js";
import { Budgets } from "./limits/budgets.js";
import { Rules } from "./limits/rules.js";
import { type LimitParts, limit } from "./limits/step.js";
import type { MediaStore } from "./media.js";
import type { Input, Output } from "./methods.js";
import { newCall } from "./new-call.js";
import { Observed } from "./observe.js";
import { type OwnTokenMethod, ownTokensOf } from "./own-tokens.js";
import type { Catalogue } from "./routing/catalogue.js";
import { resolve } from "./routing/resolve.js";
import { Routing, type RoutingParts } from "./routing/routing.js";
import { Started } from "./started.js";
import type { Telemetry } from "./telemetry.js";
import { meter, type UsageParts } from "./usage/meter.js";
import { validate } from "./validate.js";

/** What the core is made of. */
export interface CoreParts extends RoutingParts {
  /** Who knows tokens besides the configuration, for mode `token`; asked in order. */
  readonly callers?: readonly CallerSource[] | undefined;
  /** Those that callers make for themselves; absent: there is no database for them. */
  readonly ownTokens?: OwnTokens | undefined;
  /** Absent: no records of calls are kept. */
  readonly usage?: UsageParts | undefined;
  /** Absent: images are answered inline only. */
  readonly media?: MediaStore | undefined;
  /** Checks a PNG and drops its metadata. */
  readonly sanitize: (png: Uint8Array) => Uint8Array;
  /** Makes a PNG unrecognisable. */
  readonly blur: FinishTools["blur"];
  /** Absent: nothing is limited, also not by callers' own limits. */
  readonly limits?: LimitParts | undefined;
  /** Absent: a call that is repeated runs again. */
  readonly idempotency?: IdempotencyParts | undefined;
  /** Where answers are kept for who asks the same; absent: every call asks a model. */
  readonly cache?: AnswerCache | undefined;
  /** Who looks at texts of calls, in order; absent or empty: nobody. */
  readonly guards?: readonly Guard[] | undefined;
  /** Absent: nobody watches. */
  readonly telemetry?: Telemetry | undefined;
}

/** The gateway, with what its owner does to it besides calling. */
export interface Core extends Gateway {
  /** The models as a caller who may use all of them sees them. */
  readonly catalogue: Catalogue;
  /** Where calls go, and how it stands there. Who made the core starts and closes it. */
  readonly routing: Pick<Routing, "start" | "retire" | "close" | "snapshot">;
  /** How much of budgets is used, as calls told; absent: nothing is limited. */
  readonly budgets: Budgets | undefined;
  /**
   * Refuses new calls from now on, and lets none go on without its caller; what is mirrored is aborted.
   * Resolves once no call runs.
   */
  drain(): Promise<void>;
  /** Resolves once no call runs, also none that goes on without its caller or is mirrored; refuses nothing. */
  idle(): Promise<void>;
  /** Aborts the calls that still run, also those that go on without their callers or are mirrored. */
  abort(): void;
}

/** Makes a core. Owns none of its parts: backends and stores are closed by who made them. */
export function createCore(parts: CoreParts): Core {
  const { settings, log, media } = parts;
  const routing = new Routing(parts);
  const { catalogue } = routing;
  const inFlight = new InFlight();
  const again = parts.idempotency && idempotency(parts.idempotency);
  const idle = async () => {
    await inFlight.none();
    await again?.idle();
    await routing.mirrors?.idle();
  };
  const identify = identifier(settings.auth, parts.callers, settings.administrators);
  const limits = limitsOf(parts);
  const handle = stepsOf(parts, routing, again, identify, limits);
  const shared = { handle, inFlight, callLog: settings.callLog };

  return {
    log,
    media,
    catalogue,
    routing,
    budgets: limits?.budgets,
    readiness: inFlight,
    admit: (credential, clientOf, headers, by) =>
      admit(identify, credential, clientOf, headers, by),
    call(method, request, origin) {
      const life = new Life();
      const totalMs = catalogue.totalMs(method, request);
      const own = Math.min(origin.timeoutMs ?? totalMs, totalMs);
      const deadline = performance.now() + own;
      const call = newCall(method, request, origin, deadline, life, parts);
      const messages = new Observed(
        life.cancellation,
        new Course(call, life, origin.signal, shared),
      );
      return new Started(call, messages as AsyncIterable<readonly Output<typeof method>[]>);
    },
    drain() {
      inFlight.refuse();
      routing.mirrors?.refuse(shuttingDown());
      again?.abandon();
      return idle();
    },
    idle,
    abort() {
      const reason = shuttingDown();
      inFlight.abort(reason);
      again?.abort(reason);
      routing.mirrors?.abort(reason);
    },
  };
}

/** The limits, with what they are made into. */
function limitsOf({ limits, settings: { auth }, callers }: CoreParts) {
  if (!limits) return undefined;
  const rules = new Rules(limits.settings);
  const alerts = limits.alerts && new BudgetAlerts(limits.alerts, limits.store, limits.clock);
  const budgets = new Budgets({ rules, auth, callers, clock: limits.clock, alerts });
  return { ...limits, rules, budgets };
}

/** The steps of every call, outermost first. */
function stepsOf(
  parts: CoreParts,
  routing: Routing,
  again: Idempotency | undefined,
  identify: ReturnType<typeof identifier>,
  limits: ReturnType<typeof limitsOf>,
): Handle {
  const { settings, usage, guards = [] } = parts;
  const finish = finisher({
    ...parts,
    store: parts.media,
    action: settings.safetyAction,
    onFailure: settings.safetyOnFailure,
  });
  return compose(
    [
      authenticate(identify),
      // Outside of usage: an answer that is given again was used once.
      ...(again ? [again.step] : []),
      ...(usage ? [meter(usage)] : []),
      validate(settings),
      resolve(routing.catalogue),
      ...(limits ? [limit({ ...limits, bounds: settings.bounds })] : []),
      ...(guards.length > 0 ? [guard(guards, parts.documents)] : []),
      completion,
      ...(parts.cache ? [cache({ store: parts.cache, settings: settings.cache })] : []),
      images(settings, finish),
    ],
    end(
      routing,
      { limits, catalogue: routing.catalogue, entries: settings.models },
      parts.ownTokens,
    ),
  );
}

/** The end of the chain: the core's own methods, what is only counted, and everything else to a backend. */
function end(
  { catalogue, count, route }: Routing,
  account: AccountParts,
  ownTokens: OwnTokens | undefined,
): Handle {
  return (call) => {
    switch (call.method) {
      case "listModels":
        return list(call, catalogue);
      case "getAccount":
        return accountOf(call, account);
      case "createToken":
      case "listTokens":
      case "revokeToken":
        return ownTokensOf(call as Call<OwnTokenMethod>, ownTokens);
      case "countTokens":
        return count(call);
      default:
        return route(call);
    }
  };
}

async function* list(
  call: Call,
  catalogue: Catalogue,
): AsyncGenerator<readonly Output<"listModels">[]> {
  const allowed = (sought: Sought) => mayUse(call.caller, sought);
  const { id } = call.request as Input<"listModels">;
  const models =
    id === "" ? catalogue.list(allowed) : [catalogue.describe(id, allowed) ?? []].flat();
  yield [{ $typeName: "lintel.v1.ListModelsResponse", models }];
}
