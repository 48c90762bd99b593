/** The events of a streamed generation, as backends give them and as the core hands them on. */
import type { Media, Progress, StreamTextToImageResponse } from "../../gen/lintel/v1/image_pb.js";
import { wellFormed } from "./well-formed.js";

type Event = StreamTextToImageResponse["event"];

function event(it: Event): StreamTextToImageResponse {
  return { $typeName: "lintel.v1.StreamTextToImageResponse", event: it };
}

const none = new Uint8Array(0);

/** How far an image is. `percent` is of the whole request; the core fills it in for backends. */
export function progressEvent(
  known: Pick<Progress, "index" | "images" | "step" | "steps"> & Partial<Progress>,
): StreamTextToImageResponse {
  const value = { $typeName: "lintel.v1.Progress", preview: none, percent: 0, ...known } as const;
  return event({ case: "progress", value });
}

/** An image that is ready; `index` counts from 0 within the request. */
export function imageEvent(index: number, media: Media): StreamTextToImageResponse {
  return event({ case: "image", value: { $typeName: "lintel.v1.ImageReady", index, media } });
}

/** The same with its last step before it, of a server that tells of none. */
export const madeEvents = (
  { index, images, steps }: Pick<Progress, "index" | "images" | "steps">,
  media: Media,
): StreamTextToImageResponse[] => [
  progressEvent({ index, images, step: steps, steps }),
  imageEvent(index, media),
];

/** The last event. */
export function doneEvent(warnings: Iterable<string>): StreamTextToImageResponse {
  return event({
    case: "done",
    value: { $typeName: "lintel.v1.ImagesDone", warnings: [...warnings] },
  });
}

/** What backends say for the seed of an image whose model takes none. */
export const noSeed = -1;

/** What a model server tells of an image besides. */
export interface ToldOfImage {
  /** What a check of the model's own found. Default: false. */
  readonly nsfw?: boolean;
  /** What it made of the prompt; empty: it does not tell. */
  readonly revisedPrompt?: string;
}

/**
 * A generated image as a backend answers it: its bytes, a PNG, inline.
 * @param seed the one that was used, or `noSeed`
 */
export function inlineImage(
  data: Uint8Array,
  seed: number,
  { nsfw = false, revisedPrompt = "" }: ToldOfImage = {},
): Media {
  const media: Media = {
    $typeName: "lintel.v1.Media",
    url: "",
    seed,
    nsfw,
    data,
    mimeType: "image/png",
  };
  if (revisedPrompt !== "") media.revisedPrompt = wellFormed(revisedPrompt);
  return media;
}
