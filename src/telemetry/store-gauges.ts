/** What is looked up of stores, and of records of usage on their way into theirs. */
import type { LimitStore } from "../core/limits/store.js";
import type { Metric } from "./instruments.js";
import { counter, gauge, one } from "./looked-up.js";

/** How a store is. */
interface Outages {
  readonly away: boolean;
  /** How often it went away. */
  readonly outages: number;
}

/** The stores that there are. */
export interface Stores {
  readonly limits?: Pick<LimitStore, "state"> | undefined;
  /** Where answers for `Idempotency-Key` are, if not in this process. */
  readonly answers?: Outages | undefined;
  /** Where answers are kept for who asks the same, if not in this process. */
  readonly cache?: Outages | undefined;
  /** Where images are, if not in the answers alone. */
  readonly images?: Outages | undefined;
  /** The database, as far as tokens are concerned. */
  readonly tokens?: Outages | undefined;
  /** The database, as far as usage is concerned. */
  readonly usage?:
    | (Outages & {
        readonly waitingBytes: number;
        readonly mostWaitingBytes: number;
        readonly unwritten: number;
        readonly lostTotal: number;
      })
    | undefined;
}

/** Everything that stores tell now. */
export function ofStores({ limits, answers, cache, images, tokens, usage }: Stores): Metric[] {
  const counted = limits && { away: !limits.state.available, outages: limits.state.outages };
  const stores = Object.entries({ limits: counted, answers, cache, images, tokens, usage });
  const perStore = (value: (store: Outages) => number) =>
    stores.flatMap(([name, store]) => (store ? one(value(store), { "lintel.store": name }) : []));
  return [
    gauge(
      "lintel.store.available",
      "{store}",
      "1 while a store answers, 0 while it is away.",
      perStore(({ away }) => Number(!away)),
    ),
    counter(
      "lintel.store.outages",
      "{outage}",
      "How often a store went away.",
      perStore(({ outages }) => outages),
    ),
    counter(
      "lintel.store.decided_without",
      "{decision}",
      "Decisions about limits that were made while the store was away.",
      limits ? one(limits.state.decidedWithout) : [],
    ),
    gauge(
      "lintel.usage.waiting",
      "By",
      "Records of calls that wait on the disk: the database does not take them.",
      usage ? one(usage.waitingBytes) : [],
    ),
    gauge(
      "lintel.usage.waiting.max",
      "By",
      "How much of them may wait there.",
      usage ? one(usage.mostWaitingBytes) : [],
    ),
    gauge(
      "lintel.usage.unwritten",
      "{record}",
      "Records of calls that are only in memory: the disk does not take them.",
      usage ? one(usage.unwritten) : [],
    ),
    counter(
      "lintel.usage.lost",
      "{record}",
      "Records of calls that neither the disk nor the database took.",
      usage ? one(usage.lostTotal) : [],
    ),
  ];
}
