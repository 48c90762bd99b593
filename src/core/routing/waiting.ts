/** How a call waits for room, and what is said of it meanwhile. */
import type {
  Progress,
  StreamTextToImageResponse,
  TextToImageRequest,
} from "../../../gen/lintel/v1/image_pb.js";
import type { Call } from "../call.js";
import { imageDefaults } from "../defaults.js";
import { callerLeft, LintelError } from "../errors.js";
import { stepsOf } from "../fit.js";
import { progressEvent } from "../image-events.js";
import type { Bounds } from "../settings.js";
import type { Batch } from "./attempt.js";
import type { Clock, Timer } from "./clock.js";
import type { Endpoint } from "./endpoint.js";
import { type Place, Waiter } from "./queue.js";
import type { QueueSettings } from "./settings.js";

/** A call that waits for room at any of some endpoints: it leaves when its time is over, or its caller has left. */
export class Waiting {
  readonly #call: Call;
  readonly #bounds: Bounds;
  readonly #clock: Clock;
  readonly #since: number;
  readonly #waiter: Waiter;
  readonly #timer: Timer;
  readonly #left = () => this.#waiter.fail(this.#call.signal.reason);
  #over = false;
  /** Whether its place may be another one than the caller was told. */
  #moved: boolean;
  #onMoved: (() => void) | undefined;

  /**
   * @param tokens of the prompt, where a quota counts them
   * @param bounds of request fields
   * @throws LintelError `overloaded` if every queue is full, or that of each target that takes calls, or will in time
   */
  constructor(
    call: Call,
    endpoints: readonly Endpoint[],
    tokens: number,
    { size, timeoutMs }: QueueSettings,
    bounds: Bounds,
    clock: Clock,
  ) {
    this.#call = call;
    this.#bounds = bounds;
    this.#clock = clock;
    this.#since = clock.now();
    // Only a stream of images can tell of it.
    this.#moved = call.method === "streamTextToImage";
    const waiter = new Waiter(
      call.caller?.id ?? "",
      endpoints,
      this.#since + timeoutMs,
      this.#moved ? () => this.#move() : undefined,
      call.begun,
      tokens,
    );
    this.#waiter = waiter;
    // In queues of targets that are out alone, it would wait while later calls are served elsewhere.
    const usable = endpoints.filter((one) => one.usableBy(waiter.until, this.#since));
    for (const some of [usable, endpoints]) {
      for (const endpoint of some) endpoint.enter(waiter, size, this.#since);
      if (some.length > 0 && waiter.queues.size === 0) {
        waiter.leave();
        throw overloaded(some);
      }
    }
    call.signal.addEventListener("abort", this.#left, { once: true });
    this.#timer = clock.after(timeoutMs, () => waiter.fail(tooLate(endpoints)));
    const ended = () => this.#ended();
    waiter.place.then(ended, ended);
  }

  /**
   * Waits on. `undefined`: there is nothing to wait for any more, choose anew.
   * @returns a place; or what the caller is to be told meanwhile
   * @throws LintelError `unavailable` when its time is over; the call's reason
   */
  async next(): Promise<Place | StreamTextToImageResponse | undefined> {
    const moved = new Promise<"moved">((resolve) => {
      this.#onMoved = () => resolve("moved");
      if (this.#moved) resolve("moved");
    });
    const place = await Promise.race([moved, this.#waiter.place]);
    if (place === "moved") {
      this.#moved = false;
      return queueEvent(this.#call, this.#bounds, this.#waiter.position());
    }
    return place;
  }

  /** The call is over. A place that it got meanwhile goes to the next one. */
  leave(): void {
    this.#waiter.fail(callerLeft());
    // Whoever logs the call does so at once.
    this.#ended();
    const { caller, tokens } = this.#waiter;
    const giveBack = (place: Place | undefined) =>
      place?.endpoint.giveBack(this.#clock.now(), place.probe, caller, tokens);
    this.#waiter.place.then(giveBack, () => {});
  }

  /** It waits no more, whatever came of it; only the first time counts. */
  #ended(): void {
    if (this.#over) return;
    this.#over = true;
    const { attributes, signal } = this.#call;
    this.#timer.cancel();
    signal.removeEventListener("abort", this.#left);
    const now = this.#clock.now();
    attributes.queuedMs = (attributes.queuedMs ?? 0) + now - this.#since;
    // It may have been the last who waits for a target that is out.
    for (const endpoint of this.#waiter.endpoints) endpoint.serve(now);
  }

  #move(): void {
    this.#moved = true;
    this.#onMoved?.();
  }
}

/**
 * Whether all that came tells how far an image is.
 * @param is what must be true of each, too
 */
export function onlyTells(
  { done, value }: IteratorResult<Batch>,
  is: (progress: Progress) => boolean = () => true,
): boolean {
  if (done) return false;
  return (value as Batch).every(
    (it) => "event" in it && it.event.case === "progress" && is(it.event.value),
  );
}

/** Whether nothing is begun by all that came: a place in a target's queue, or that no step is done yet. */
export const onlyWaits = (first: IteratorResult<Batch>): boolean => onlyTells(first, isUnbegun);

const isUnbegun = ({ step, preview }: Progress) => step === 0 && preview.length === 0;

/** What a caller who waits is told: how many are served before. */
function queueEvent(call: Call, bounds: Bounds, queuePosition: number): StreamTextToImageResponse {
  const request = call.request as TextToImageRequest;
  // Targets may have other defaults each: of these the best one's.
  const model = call.targets?.[0]?.model;
  return progressEvent({
    index: 0,
    images: request.numImagesPerPrompt ?? imageDefaults.numImagesPerPrompt,
    step: 0,
    steps: model ? stepsOf(request, model, call.modelSettings, bounds) : 0,
    queuePosition,
  });
}

const tooLate = (endpoints: readonly Endpoint[]) =>
  new LintelError("unavailable", "no model server had room in time", {
    retryAfter: soon(endpoints),
  });

const overloaded = (endpoints: readonly Endpoint[]) =>
  new LintelError("overloaded", "too many requests wait for this model", {
    retryAfter: soon(endpoints),
  });

/** Seconds after which the queue may be half empty, by how long calls take; 1 to 60. */
function soon(endpoints: readonly Endpoint[]): number {
  const waits = endpoints.map(({ queue, maxInFlight, whole }) => {
    const rounds = Number.isFinite(maxInFlight) ? queue.size / 2 / maxInFlight : 0;
    return rounds * (whole.percentile(50) ?? 1000);
  });
  return Math.min(60, Math.max(1, Math.ceil(Math.min(...waits) / 1000)));
}
