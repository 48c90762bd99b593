/** How a call waits for room, and what is said of it meanwhile. */
import type {
  StreamTextToImageResponse,
  TextToImageRequest,
} from "../../../gen/lintel/v1/image_pb.js";
import type { Call } from "../call.js";
import { imageDefaults } from "../defaults.js";
import { LintelError } from "../errors.js";
import { progressEvent } from "../image-events.js";
import type { Clock } from "./clock.js";
import type { Endpoint } from "./endpoint.js";
import { Waiter } from "./queue.js";
import type { QueueSettings } from "./settings.js";

/**
 * Lets a call wait for room at any of some endpoints, until there is some, the
 * time is over, or the caller leaves.
 * @param moved called when its place in a queue may have changed
 * @throws LintelError `unavailable` if every queue is full
 */
export function enterQueues(
  call: Call,
  endpoints: readonly Endpoint[],
  settings: QueueSettings,
  clock: Clock,
  moved?: () => void,
): Waiter {
  const waiter = new Waiter(call.caller?.id ?? "", endpoints, moved);
  for (const { queue } of endpoints) queue.enter(waiter, settings.size);
  if (waiter.queues.size === 0) throw overloaded(endpoints);
  const left = () => waiter.fail(call.signal.reason);
  call.signal.addEventListener("abort", left, { once: true });
  const timer = clock.after(settings.timeoutMs, () =>
    waiter.fail(
      new LintelError("unavailable", "no model server had room in time", {
        retryAfter: soon(endpoints),
      }),
    ),
  );
  const over = () => {
    timer.cancel();
    call.signal.removeEventListener("abort", left);
  };
  waiter.place.then(over, over);
  return waiter;
}

/** What a caller who waits is told: how many are served before. */
export function queueEvent(call: Call, queuePosition: number): StreamTextToImageResponse {
  const request = call.request as TextToImageRequest;
  return progressEvent({
    index: 0,
    images: request.numImagesPerPrompt ?? imageDefaults.numImagesPerPrompt,
    step: 0,
    steps: request.numInferenceSteps ?? imageDefaults.numInferenceSteps,
    queuePosition,
  });
}

const overloaded = (endpoints: readonly Endpoint[]) =>
  new LintelError("unavailable", "too many requests wait for this model", {
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
