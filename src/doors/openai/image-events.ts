/** Streams of images as OpenAI's clients read them. */
import type {
  ImageReady,
  Progress,
  StreamTextToImageResponse,
} from "../../../gen/lintel/v1/image_pb.js";
import { toBase64 } from "../../core/base64.js";
import type { LintelError } from "../../core/errors.js";
import { toJsonLine } from "../../core/json-string.js";
import { pngSize } from "../../core/png-size.js";
import { nowSeconds } from "../../core/stamp.js";
import { errorObject } from "../json/error.js";
import { mediaText } from "../json/media.js";
import { type EventEncoder, type EventSink, typedEvent } from "../json/sse.js";

/** What the events say of a picture besides: nothing of it is asked of a model here. */
const looks = '"background":"auto","output_format":"png","quality":"auto"';

/** No tokens are counted for images; typed clients fail without the member. */
const usage =
  '"usage":{"input_tokens":0,"input_tokens_details":{"image_tokens":0,"text_tokens":0},"output_tokens":0,"total_tokens":0}';

/**
 * Writes the messages of one stream as events: `image_generation.partial_image`, and for each image
 * `image_generation.completed`. Of other progress OpenAI tells nothing, and comments stand for it.
 * @param partials most partial images of each image, 0 to 3
 * @param notes warnings of the door itself
 */
export const openaiImageEncoder = (
  partials: number,
  notes: readonly string[] = [],
): EventEncoder<"streamTextToImage"> => new OpenaiImageEncoder(partials, notes);

class OpenaiImageEncoder implements EventEncoder<"streamTextToImage"> {
  readonly plainEnd = true;
  readonly #partials: number;
  readonly #warnings: string[];
  /** Partial images that were sent, by the image. */
  readonly #sent = new Map<number, number>();
  /** Images of the whole request, once it is known. */
  #images = 0;
  #ready = 0;
  /** Members of the last image: warnings are complete a message later, and stand there, too. */
  #last = "";

  constructor(partials: number, notes: readonly string[]) {
    this.#partials = partials;
    this.#warnings = [...notes];
  }

  messages(batch: readonly StreamTextToImageResponse[], to: EventSink): void {
    for (const { event: it } of batch) {
      if (it.case === "progress") to.add(this.#partial(it.value));
      else if (it.case === "image") to.add(this.#completed(it.value));
      else if (it.case === "done") this.#warnings.push(...it.value.warnings);
    }
  }

  failure(error: LintelError): string {
    return this.#close() + typedEvent("error", `"error":${toJsonLine(errorObject(error))}`);
  }

  end(): string {
    const { length } = this.#warnings;
    return this.#close(length > 0 ? `,"warnings":${toJsonLine(this.#warnings)}` : "");
  }

  /** Those that are sent are spread over an image's steps. */
  #partial({ index, images, step, steps, preview }: Progress): string {
    this.#images = images;
    const sent = this.#sent.get(index) ?? 0;
    const due = Math.floor((steps * (sent + 1)) / (this.#partials + 1));
    if (preview.length === 0 || sent >= this.#partials || step < due) return "";
    this.#sent.set(index, sent + 1);
    const place = `"partial_image_index":${sent}`;
    return typedEvent("image_generation.partial_image", `${pictureText(preview)},${place}`);
  }

  #completed({ media }: ImageReady): string {
    if (!media) return "";
    const before = this.#close();
    this.#last = `${pictureText(media.data)},${usage},${mediaText(media)}`;
    this.#ready++;
    return before + (this.#ready < this.#images ? this.#close() : "");
  }

  /** @param more members, as they follow others */
  #close(more = ""): string {
    const last = this.#last;
    this.#last = "";
    return last === "" ? "" : typedEvent("image_generation.completed", last + more);
  }
}

/** A picture, as members of an object. */
function pictureText(png: Uint8Array): string {
  const { width, height } = pngSize(png);
  return `"b64_json":"${toBase64(png)}","created_at":${nowSeconds()},"size":"${width}x${height}",${looks}`;
}
