/** Gateways that meet in this process. */
import type { Peer, Peers, Report } from "../../src/core/routing/peers.js";

/** A meeting place, and what was told there last. */
export interface Meeting extends Peers {
  readonly told: ReadonlyMap<Peer, Report>;
  /** While it is not there, nobody hears anything. */
  away: boolean;
}

/** Nobody has come yet. */
export function meeting(): Meeting {
  const told = new Map<Peer, Report>();
  const place: Meeting = {
    told,
    away: false,
    join() {
      const peer: Peer = {
        async exchange(report) {
          if (place.away) return [];
          told.set(peer, report);
          return [...told].flatMap(([other, said]) => (other === peer ? [] : [said]));
        },
        leave: () => void told.delete(peer),
      };
      return peer;
    },
  };
  return place;
}
