/** What targets did under configurations that hold no more: their numbers count since the start. */
import type { EndpointSnapshot, RoutingSnapshot } from "./snapshot.js";

/** Sums of one target. */
interface Sums {
  readonly attempts: number;
  readonly failures: number;
  readonly inFlight: number;
  readonly waiting: number;
}

const keyOf = ({ backend, model }: EndpointSnapshot) => JSON.stringify([backend, model]);

/** Sums of routings that ended, by target. */
export class PastRouting {
  readonly #ended = new Map<string, Sums>();
  #denied = 0;

  /** A routing ended: nothing runs there any more. */
  add({ endpoints, retries }: RoutingSnapshot): void {
    for (const endpoint of endpoints) if (endpoint.attempts > 0) addTo(this.#ended, endpoint);
    this.#denied += retries.denied;
  }

  /**
   * The routing of now with what ran before.
   * @param ending routings that still run calls of theirs
   */
  under(now: RoutingSnapshot, ending: readonly RoutingSnapshot[]): RoutingSnapshot {
    const sums = new Map(this.#ended);
    for (const { endpoints } of ending) for (const one of endpoints) addTo(sums, one);
    const denied = ending.reduce((sum, { retries }) => sum + retries.denied, this.#denied);
    // What mirrors did is counted elsewhere: only what still runs there is told.
    const mirrored = new Map<string, Sums>();
    for (const { mirrors } of ending) for (const one of mirrors) addTo(mirrored, one);
    return {
      endpoints: now.endpoints.map((endpoint) => withBefore(endpoint, sums)),
      mirrors: now.mirrors.map((mirror) => withBefore(mirror, mirrored)),
      retries: { ...now.retries, denied: now.retries.denied + denied },
    };
  }
}

function withBefore(endpoint: EndpointSnapshot, sums: ReadonlyMap<string, Sums>): EndpointSnapshot {
  const before = sums.get(keyOf(endpoint));
  return before ? { ...endpoint, ...plus(endpoint, before) } : endpoint;
}

function addTo(all: Map<string, Sums>, endpoint: EndpointSnapshot): void {
  const key = keyOf(endpoint);
  all.set(key, plus(endpoint, all.get(key)));
}

const plus = (a: Sums, b: Sums = { attempts: 0, failures: 0, inFlight: 0, waiting: 0 }): Sums => ({
  attempts: a.attempts + b.attempts,
  failures: a.failures + b.failures,
  inFlight: a.inFlight + b.inFlight,
  waiting: a.waiting + b.waiting,
});
