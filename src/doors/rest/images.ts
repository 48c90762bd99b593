/** Generated images as JSON: whole, and as events. */
import type {
  Media,
  StreamTextToImageResponse,
  TextToImageResponse,
} from "../../../gen/lintel/v1/image_pb.js";
import type { LintelError } from "../../core/errors.js";
import { errorBody } from "../json/error.js";
import { type EventEncoder, event } from "../json/sse.js";

/** A whole answer as JSON text. */
export function wholeImages(response: TextToImageResponse): string {
  return JSON.stringify({
    images: response.images.map(mediaObject),
    ...(response.warnings.length > 0 && { warnings: response.warnings }),
  });
}

/** Writes the messages of one stream as events: `progress`, `image`, and `done` with all images. */
export function imageEncoder(): EventEncoder<"streamTextToImage"> {
  const images: ReturnType<typeof mediaObject>[] = [];
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
        const image = mediaObject(value.media);
        images[value.index] = image;
        return object({ type, index: value.index, image });
      }
      case "done": {
        const warnings = value.warnings.length > 0 && { warnings: value.warnings };
        return object({ type, images, ...warnings });
      }
      default:
        return "";
    }
  };
  return {
    messages: (batch) => batch.map(encode).join(""),
    failure: (error: LintelError) => object({ type: "error", ...errorBody(error) }),
    end: () => "",
  };
}

const object = (value: object): string => event(JSON.stringify(value));

const mediaObject = ({ url, seed, nsfw }: Media) => ({ url, seed, nsfw });

const pngUrl = (bytes: Uint8Array): string =>
  `data:image/png;base64,${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64")}`;
