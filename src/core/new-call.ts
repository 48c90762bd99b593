/** A call as it begins, made of what a door says. */
import type { Call } from "./call.js";
import { newAttributes } from "./call-attributes.js";
import type { Origin } from "./gateway.js";
import { begunHeader } from "./hop.js";
import type { Life } from "./life.js";
import type { Logger } from "./log.js";
import type { Input, MethodName } from "./methods.js";
import { readingIn } from "./prompts.js";
import { requestIdOf } from "./request-id.js";
import { passedIn } from "./routing/pass-headers.js";
import type { CoreSettings } from "./settings.js";
import { type Telemetry, traceOf } from "./telemetry.js";
import { Warnings } from "./warnings.js";

/** What calls of one core share. */
interface Shared {
  readonly settings: CoreSettings;
  readonly telemetry?: Telemetry | undefined;
  readonly log: Logger;
  /** Absent: no answers are kept. */
  readonly cache?: unknown;
  /** Absent or empty: nobody looks at texts. */
  readonly guards?: readonly unknown[] | undefined;
}

/** A call with all its fields. */
type WholeCall = { readonly [Field in keyof Required<Call>]: Call[Field] };

/**
 * Every field is there from the begin, whoever sets it: copies of objects of
 * one shape cost a third of others (`{...call, backend}` in each step; measured).
 * @param deadline by `performance.now`
 */
export function newCall<M extends MethodName>(
  method: M,
  request: Input<M>,
  origin: Origin,
  deadline: number,
  life: Life,
  { settings, telemetry, log, cache, guards }: Shared,
): WholeCall {
  const id = requestIdOf(origin.requestId);
  const trace = traceOf(origin.header);
  return {
    method,
    request: request as Call["request"],
    id,
    credential: origin.credential,
    admission: origin.admission,
    defect: origin.defect,
    idempotencyKey: origin.idempotencyKey,
    cacheControl: cache ? origin.header?.("cache-control") : undefined,
    baseUrl: origin.baseUrl,
    cutsTokens: origin.cutsTokens === true,
    trace,
    observation: telemetry?.begin({ method, id, door: origin.door, trace }),
    caller: undefined,
    targets: undefined,
    unseen: false,
    begun: settings.servesGateways === true && origin.header?.(begunHeader) !== undefined,
    reading: settings.servesGateways ? readingIn(origin) : undefined,
    modelSettings: undefined,
    signal: life.cancellation,
    deadline,
    backend: undefined,
    connectMs: undefined,
    alive: undefined,
    affinity: affinityIn(origin, settings),
    passed: passedIn(origin.header, settings.routing.passHeaders),
    life,
    log,
    attributes: newAttributes(origin.door, guards?.length ? null : undefined, origin.client),
    warnings: new Warnings(),
    metadata: new Map(),
  };
}

/** A longer one is no worse for what it is used for. */
const longestAffinity = 256;

/** What the first of the headers says that has anything to say. */
function affinityIn({ header }: Origin, { routing }: CoreSettings): string | undefined {
  if (!header) return undefined;
  for (const name of routing.affinityHeaders) {
    const value = header(name);
    if (value) return value.slice(0, longestAffinity);
  }
  return undefined;
}
