/**
 * What is counted and measured. A series is looked up once and then costs an
 * addition: the metrics of OpenTelemetry's own library cost several times more
 * for each call, since they sort and join the attributes of each value.
 */

/** What tells one series from the others of its instrument. */
export type Attributes = Readonly<Record<string, string | boolean>>;

/** What an instrument is. */
export interface Descriptor {
  /** As OpenTelemetry writes it: `gen_ai.server.request.duration`. */
  readonly name: string;
  readonly description: string;
  /** UCUM: `s`, `By`, `{token}`, `1`. */
  readonly unit: string;
}

/** Values of an instrument, as plain data. */
export type Metric = Descriptor &
  (
    | { readonly type: "counter" | "gauge"; readonly points: readonly Point[] }
    | {
        readonly type: "histogram";
        readonly boundaries: readonly number[];
        readonly points: readonly HistogramPoint[];
      }
  );

/** A number. */
export interface Point {
  readonly attributes: Attributes;
  readonly value: number;
}

/** A distribution. */
export interface HistogramPoint {
  readonly attributes: Attributes;
  /** One for each boundary, and one for what is above all of them. */
  readonly counts: readonly number[];
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
  /** Of each bucket the latest value of a call that is in a trace, in the order of `counts`; absent: there is none. */
  readonly exemplars?: readonly (Exemplar | undefined)[] | undefined;
}

/** A value, and in which trace the call is that it was measured at. */
export interface Exemplar {
  readonly traceId: string;
  readonly value: number;
  /** When, milliseconds since the epoch. */
  readonly at: number;
}

/** Something that can be read. */
export interface Instrument {
  read(): Metric;
}

/** Most series of one instrument; those that come later share one, as the SDK's do. */
const mostSeries = 2000;
const overflow: Attributes = { "otel.metric.overflow": true };

/** Series by their attributes. */
class SeriesMap<S> {
  readonly #make: (attributes: Attributes) => S;
  readonly #series = new Map<string, S>();
  #overflow: S | undefined;

  constructor(make: (attributes: Attributes) => S) {
    this.#make = make;
  }

  /** The series with these attributes; made if there is none. */
  at(attributes: Attributes): S {
    const key = JSON.stringify(Object.entries(attributes));
    const known = this.#series.get(key);
    if (known) return known;
    if (this.#series.size >= mostSeries) {
      this.#overflow ??= this.#make(overflow);
      return this.#overflow;
    }
    const made = this.#make(attributes);
    this.#series.set(key, made);
    return made;
  }

  *all(): Iterable<S> {
    yield* this.#series.values();
    if (this.#overflow) yield this.#overflow;
  }
}

/** A series of a counter. */
export class Count implements Point {
  readonly attributes: Attributes;
  value = 0;

  constructor(attributes: Attributes) {
    this.attributes = attributes;
  }

  add(more: number): void {
    this.value += more;
  }
}

/** A number that only grows. */
export class Counter implements Instrument {
  readonly #descriptor: Descriptor;
  readonly #series = new SeriesMap((attributes) => new Count(attributes));

  constructor(descriptor: Descriptor) {
    this.#descriptor = descriptor;
  }

  at(attributes: Attributes): Count {
    return this.#series.at(attributes);
  }

  read(): Metric {
    return { ...this.#descriptor, type: "counter", points: [...this.#series.all()] };
  }
}

/** A series of a histogram. */
export class Distribution implements HistogramPoint {
  readonly attributes: Attributes;
  readonly counts: number[];
  count = 0;
  sum = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  exemplars: ({ -readonly [of in keyof Exemplar]: Exemplar[of] } | undefined)[] | undefined;
  readonly #boundaries: readonly number[];

  constructor(attributes: Attributes, boundaries: readonly number[]) {
    this.attributes = attributes;
    this.#boundaries = boundaries;
    this.counts = new Array<number>(boundaries.length + 1).fill(0);
  }

  /** @param traceId of the call, where somebody may look at its trace */
  record(value: number, traceId?: string): void {
    let i = 0;
    // Boundaries are few, and a bucket ends with its boundary.
    while (i < this.#boundaries.length && value > (this.#boundaries[i] as number)) i++;
    (this.counts[i] as number)++;
    this.count++;
    this.sum += value;
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
    if (traceId === undefined) return;
    this.exemplars ??= [];
    const latest = this.exemplars[i];
    if (!latest) this.exemplars[i] = { traceId, value, at: Date.now() };
    else {
      latest.traceId = traceId;
      latest.value = value;
      latest.at = Date.now();
    }
  }
}

/** Distributions over the same boundaries. */
export class Histogram implements Instrument {
  readonly #descriptor: Descriptor;
  readonly #boundaries: readonly number[];
  readonly #series: SeriesMap<Distribution>;

  /** @param boundaries upper ends of the buckets, ascending */
  constructor(descriptor: Descriptor, boundaries: readonly number[]) {
    this.#descriptor = descriptor;
    this.#boundaries = boundaries;
    this.#series = new SeriesMap((attributes) => new Distribution(attributes, boundaries));
  }

  at(attributes: Attributes): Distribution {
    return this.#series.at(attributes);
  }

  read(): Metric {
    const points = [...this.#series.all()].filter(({ count }) => count > 0);
    return { ...this.#descriptor, type: "histogram", boundaries: this.#boundaries, points };
  }
}
