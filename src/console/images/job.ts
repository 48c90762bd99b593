/** One request for images, and how it comes along. */
import { eventsOf, failureIn, type Gateway, wordsOf } from "../gateway.js";
import type { ImageEvent, Media } from "../wire.js";

export interface Job {
  readonly id: number;
  readonly prompt: string;
  /** Of the whole request, 0 to 100. */
  readonly percent: number;
  /** What is being done, in words. */
  readonly state: string;
  /** A small picture of the state, a `data:` URL. */
  readonly preview?: string | undefined;
  /** In the order in which they were asked for; some may be missing yet. */
  readonly images: readonly (Media | undefined)[];
  readonly warnings: readonly string[];
  readonly running: boolean;
  readonly error?: string;
}

/** A request that has just begun. */
export const newJob = (id: number, prompt: string): Job => ({
  ...{ id, prompt, percent: 0, state: "asked", images: [], warnings: [], running: true },
});

/**
 * Has images made.
 * @param onChange gets the job anew with all that comes; also where it fails, with the reason
 * @param signal ends it, which is no failure
 */
export async function draw(
  gateway: Gateway,
  request: object,
  job: Job,
  onChange: (job: Job) => void,
  signal: AbortSignal,
): Promise<void> {
  let now = job;
  const change = (more: Partial<Job>) => {
    now = { ...now, ...more };
    onChange(now);
  };
  try {
    const response = await gateway.call("text-to-image", request, signal);
    for await (const event of eventsOf<ImageEvent>(response)) {
      if (event.type === "error") throw failureIn(event);
      change(changeBy(event, now));
    }
    change({ running: false });
  } catch (error) {
    change(
      signal.aborted
        ? { running: false, state: "stopped" }
        : { running: false, error: wordsOf(error) },
    );
  }
}

function changeBy(
  event: Exclude<ImageEvent, { type: "error" }>,
  { images, preview }: Job,
): Partial<Job> {
  if (event.type === "done") {
    return {
      images: event.images,
      warnings: event.warnings ?? [],
      percent: 100,
      preview: undefined,
    };
  }
  if (event.type === "image") {
    const more = [...images];
    more[event.index] = event.image;
    return { images: more, preview: undefined };
  }
  const { percent, step, steps, index, images: all, queue_position: waiting } = event;
  const which = all > 1 ? `image ${index + 1} of ${all}, ` : "";
  const state =
    waiting === undefined
      ? `${which}step ${step} of ${steps}`
      : `${waiting} in the queue before it`;
  return { percent, state, preview: event.preview ?? preview };
}
