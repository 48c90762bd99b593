/** How far clocks of a place are from UTC, by the zone's rules that Node knows. */

/** What clocks are ahead of UTC from a moment on. */
export interface Offset {
  /** Milliseconds since the epoch; `-Infinity` for the first that is known. */
  readonly from: number;
  /** Milliseconds; below 0 in the west. */
  readonly ms: number;
}

const day = 86_400_000;

/** How far apart offsets are looked at, milliseconds: none holds for less, not that of Morocco's Ramadan. */
const stepMs = 7 * day;

/** How far around a moment its offsets are known, milliseconds: the periods before and after it, and a clock set wrong. */
const aroundMs = 400 * day;
/** How far from there they are used, milliseconds. */
const goodMs = 200 * day;

const inUtc: readonly Offset[] = [{ from: Number.NEGATIVE_INFINITY, ms: 0 }];

/** A time zone of IANA's list. */
export class TimeZone {
  /** As IANA writes it: `Europe/Berlin`. */
  readonly name: string;
  /** Absent: UTC. */
  readonly #format: Intl.DateTimeFormat | undefined;
  #known: { readonly at: number; readonly offsets: readonly Offset[] } = {
    at: Number.NaN,
    offsets: inUtc,
  };

  /** @throws RangeError if Node knows no such zone */
  constructor(name: string) {
    this.name = name;
    // Node takes 10 ms for its first format, which a start has no use for.
    if (name === "UTC") return;
    const format = new Intl.DateTimeFormat("en", {
      timeZone: name,
      hourCycle: "h23",
      ...{ year: "numeric", month: "numeric", day: "numeric" },
      ...{ hour: "numeric", minute: "numeric", second: "numeric" },
    });
    this.name = format.resolvedOptions().timeZone;
    this.#format = this.name === "UTC" ? undefined : format;
  }

  /** Whether its clocks are those of UTC for good. */
  get isUtc(): boolean {
    return this.#format === undefined;
  }

  /** Its offsets of a year before and after a time, ascending; the first one holds before as well. */
  around(at: number): readonly Offset[] {
    if (this.isUtc) return inUtc;
    if (!(Math.abs(at - this.#known.at) < goodMs)) {
      this.#known = { at, offsets: this.between(at - aroundMs, at + aroundMs) };
    }
    return this.#known.offsets;
  }

  /** The same of any time. */
  between(from: number, until: number): readonly Offset[] {
    let ms = this.#offset(from);
    const offsets: Offset[] = [{ from: Number.NEGATIVE_INFINITY, ms }];
    for (let at = from + stepMs; at < until + stepMs; at += stepMs) {
      const next = this.#offset(at);
      if (next === ms) continue;
      offsets.push({ from: this.#change(at - stepMs, at, next), ms: next });
      ms = next;
    }
    return offsets;
  }

  /** Since when an offset holds that holds at the end of a stretch, and not at its start. */
  #change(start: number, end: number, ms: number): number {
    let before = Math.floor(start / 1000);
    let after = Math.ceil(end / 1000);
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (this.#offset(middle * 1000) === ms) after = middle;
      else before = middle;
    }
    return after * 1000;
  }

  #offset(at: number): number {
    if (!this.#format) return 0;
    const second = Math.floor(at / 1000) * 1000;
    const told: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const { type, value } of this.#format.formatToParts(second)) told[type] = Number(value);
    const { year = 0, month = 1, day: date, hour, minute, second: s } = told;
    return Date.UTC(year, month - 1, date, hour, minute, s) - second;
  }
}

/** UTC. */
export const utc = new TimeZone("UTC");

/** What holds at a time, milliseconds. */
export function offsetAt(offsets: readonly Offset[], at: number): number {
  let ms = 0;
  for (const offset of offsets) {
    if (offset.from > at) break;
    ms = offset.ms;
  }
  return ms;
}

/**
 * The first moment at which clocks say a time, or a later one where they leap over it; milliseconds since the epoch.
 * @param wall what clocks say, as milliseconds since the epoch in UTC
 */
export function momentOf(offsets: readonly Offset[], wall: number): number {
  let moment = wall;
  for (const [i, { from, ms }] of offsets.entries()) {
    moment = Math.max(wall - ms, from);
    if (moment < (offsets[i + 1]?.from ?? Number.POSITIVE_INFINITY)) break;
  }
  return moment;
}
