/** What a call for images says, from backends of whatever kind. */
import type {
  StreamTextToImageResponse,
  TextToImageRequest,
} from "../../gen/lintel/v1/image_pb.js";
import type { Backend } from "../../src/core/backend.js";
import { never } from "../support/calls.js";
import { callOf } from "./subject.js";

/** What a call says. */
export type Event = StreamTextToImageResponse["event"];

/** Gives each event to a listener as it comes; resolves with all. */
export async function eventsOf(
  backend: Backend,
  request: TextToImageRequest,
  by: AbortSignal = never,
  listen: (event: Event) => void = () => {},
): Promise<Event[]> {
  const { streamTextToImage } = backend.handlers;
  if (!streamTextToImage) throw new Error("no handler");
  const events: Event[] = [];
  for await (const step of streamTextToImage(callOf("streamTextToImage", request, by))) {
    for (const { event } of step) {
      events.push(event);
      listen(event);
    }
  }
  return events;
}

/** Images among what a call said. */
export const imagesOf = (events: Event[]) =>
  events.flatMap((event) =>
    event.case === "image" && event.value.media ? [event.value.media] : [],
  );

/** Progress among what a call said. */
export const progressOf = (events: Event[]) =>
  events.flatMap((event) => (event.case === "progress" ? [event.value] : []));
