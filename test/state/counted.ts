/** Settings and claims for stores as a gateway opens them. */
import type { Claim } from "../../src/core/limits/store.js";
import type { CountingSettings } from "../../src/state/counting.js";
import { ofDay } from "./claims.js";

export const settings: CountingSettings = {
  limits: { models: [], caller: { imagesPerDay: 10 } },
  callersOwn: false,
  idempotency: { ttlMs: 1000, maxAnswerBytes: 1000, maxBytes: 1000 },
};

export const images = (amount: number): Claim => ({
  counter: ofDay("caller:alice:images", 10),
  amount,
});

export const { signal } = new AbortController();
