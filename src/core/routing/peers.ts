/** What gateways that serve the same models tell each other of their targets. */
import type { Logger } from "../log.js";
import type { Clock, Timer } from "./clock.js";
import type { Endpoint } from "./endpoint.js";

/** What one gateway tells. A target is named by `targetKey`. */
export interface Report {
  /** Targets that it has taken out. */
  readonly out: readonly string[];
  /** Calls that it runs at targets with a bound. */
  readonly running: readonly (readonly [target: string, caller: string, calls: number])[];
  /** What it used of targets' quotas in its last minute; absent: nothing. */
  readonly used?: readonly (readonly [target: string, requests: number, tokens: number])[];
}

/** Where gateways meet. */
export interface Peers {
  /** One more who tells and hears. */
  join(): Peer;
}

/** One who tells and hears. */
export interface Peer {
  /**
   * Tells the others how it is now, and hears how they are.
   * @returns what the others told last, without those who fell silent; nothing
   *   where nobody can be asked. Never rejects.
   */
  exchange(report: Report): Promise<readonly Report[]>;
  /** Nothing more is told. */
  leave(): void;
}

/** The name of a target among gateways. */
export const targetKey = ({ backend, model }: { backend: string; model: string }) =>
  `${backend}\n${model}`;

const intervalMs = 1000;

/** Tells and hears once a second, in the background: no call ever waits for it. */
export class PeerExchange {
  readonly #peer: Peer;
  readonly #endpoints: () => Iterable<Endpoint>;
  readonly #clock: Clock;
  readonly #log: Logger;
  #timer: Timer | undefined;
  #started = false;
  #closed = false;
  #busy = false;
  #again = false;
  /** Targets that others had out when they were heard last. */
  #out: ReadonlySet<string> = new Set();

  /** @param endpoints all that there are */
  constructor(peer: Peer, endpoints: () => Iterable<Endpoint>, clock: Clock, log: Logger) {
    this.#peer = peer;
    this.#endpoints = endpoints;
    this.#clock = clock;
    this.#log = log;
  }

  start(): void {
    this.#started = true;
    void this.#turn();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#peer.leave();
  }

  /** Something changed that the others should not wait for. */
  hurry(): void {
    if (this.#busy) this.#again = true;
    else if (this.#started) void this.#turn();
  }

  async #turn(): Promise<void> {
    if (this.#closed) return;
    this.#timer?.cancel();
    this.#busy = true;
    do {
      this.#again = false;
      const heard = await this.#peer.exchange(reportOf(this.#endpoints(), this.#clock.now()));
      if (!this.#closed) this.#hear(heard);
    } while (this.#again && !this.#closed);
    this.#busy = false;
    if (!this.#closed) this.#timer = this.#clock.after(intervalMs, () => void this.#turn());
  }

  #hear(reports: readonly Report[]): void {
    const out = new Set(reports.flatMap((report) => report.out));
    const running = new Map<string, Map<string, number>>();
    for (const [target, caller, calls] of reports.flatMap((report) => report.running)) {
      const callers = running.get(target) ?? new Map<string, number>();
      callers.set(caller, (callers.get(caller) ?? 0) + calls);
      running.set(target, callers);
    }
    const used = reports.length > 0 ? sumsOf(reports) : undefined;
    const now = this.#clock.now();
    for (const endpoint of this.#endpoints()) {
      const key = targetKey(endpoint);
      if (used && endpoint.quota) endpoint.hear(...(used.get(key) ?? nothing), now);
      if (endpoint.shares) endpoint.shares.elsewhere = running.get(key);
      if (!out.has(key)) continue;
      endpoint.health.circuit.suspect();
      if (this.#out.has(key)) continue;
      const { backend, model } = endpoint;
      this.#log.info({ backend, model }, "another gateway has taken a target out");
    }
    this.#out = out;
  }
}

/** Whoever has no call to try whether a target is back knows nothing of it after a while. */
const knownOut = ({ health: { circuit } }: Endpoint, now: number) =>
  circuit.out && (circuit.probing || now < circuit.until + 2 * intervalMs);

type Sums = [requests: number, tokens: number];

const nothing: Readonly<Sums> = [0, 0];
const noUse = { requests: 0, tokens: 0 };

/** What all of them used of quotas, by target. */
function sumsOf(reports: readonly Report[]): Map<string, Sums> {
  const sums = new Map<string, Sums>();
  for (const [target, requests, tokens] of reports.flatMap(({ used = [] }) => used)) {
    const [r, t] = sums.get(target) ?? nothing;
    sums.set(target, [r + requests, t + tokens]);
  }
  return sums;
}

function reportOf(endpoints: Iterable<Endpoint>, now: number): Report {
  const out: string[] = [];
  const running: [string, string, number][] = [];
  const used: [string, ...Sums][] = [];
  for (const endpoint of endpoints) {
    const key = targetKey(endpoint);
    if (knownOut(endpoint, now)) out.push(key);
    for (const [caller, calls] of endpoint.shares?.here ?? []) running.push([key, caller, calls]);
    const { requests, tokens } = endpoint.quota?.here(now) ?? noUse;
    if (requests > 0 || tokens > 0) used.push([key, requests, tokens]);
  }
  return used.length > 0 ? { out, running, used } : { out, running };
}
