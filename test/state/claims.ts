/** What tests of stores count. */
import type { Counter } from "../../src/core/limits/store.js";

/** Of a day, by the calendar, of which it is known what was used before: images, or money. */
export const ofDay = (key: string, limit: number): Counter => ({
  key,
  span: { type: "calendar", period: "day" },
  limit,
  estimated: true,
});
