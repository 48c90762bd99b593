/** Generated images as JSON: whole, and as events. */
import type {
  Media,
  StreamTextToImageResponse,
  TextToImageResponse,
} from "../../../gen/lintel/v1/image_pb.js";
import { pngUrl } from "../../core/base64.js";
import type { LintelError } from "../../core/errors.js";
import { toJsonLine, toJsonString } from "../../core/json-string.js";
import { errorBody } from "../json/error.js";
import { mediaText } from "../json/media.js";
import { type EventEncoder, event } from "../json/sse.js";

/** A whole answer as JSON text. */
export function wholeImages(response: TextToImageResponse): string {
  const { images, warnings } = response;
  return `{"images":[${images.map(imageText).join(",")}]${more({ warnings })}}`;
}

/** Writes the messages of one stream as events: `progress`, `image`, and `done` with all images. */
export function imageEncoder(): EventEncoder<"streamTextToImage"> {
  const images: string[] = [];
  const encode = ({ event: { case: type, value } }: StreamTextToImageResponse): string => {
    switch (type) {
      case "progress": {
        const { index, images, step, steps, percent, preview, queuePosition } = value;
        const queue = queuePosition !== undefined && { queue_position: queuePosition };
        const picture = preview.length > 0 && { preview: pngUrl(preview) };
        return object({
          type,
          index,
          images,
          step,
          steps,
          percent: Math.floor(percent),
          ...queue,
          ...picture,
        });
      }
      case "image": {
        if (!value.media) return "";
        const image = imageText(value.media);
        images[value.index] = image;
        return event(`{"type":"image","index":${value.index},"image":${image}}`);
      }
      case "done": {
        return event(`{"type":"done","images":[${images.join(",")}]${more(value)}}`);
      }
      default:
        return "";
    }
  };
  return {
    messages(batch, to) {
      for (const message of batch) to.add(encode(message));
    },
    failure: (error: LintelError) => object({ type: "error", ...errorBody(error) }),
    end: () => "",
  };
}

const object = (value: object): string => event(toJsonLine(value));

/** Warnings as the last members of an object. */
const more = ({ warnings }: { readonly warnings: readonly string[] }): string =>
  warnings.length > 0 ? `,"warnings":${toJsonLine(warnings)}` : "";

/** An image as JSON. A `data:` URL has no letter to escape, and it would be looked at millions of them. */
function imageText(media: Media): string {
  const { url } = media;
  const address = url.startsWith("data:") ? `"${url}"` : toJsonString(url);
  return `{"url":${address},${mediaText(media)}}`;
}
