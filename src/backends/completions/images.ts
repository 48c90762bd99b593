/** Pictures in answers of OpenAI-compatible servers, and in messages that are told them again. */
import type { ContentPart, ImageConfig, LLMMessage } from "../../../gen/lintel/v1/chat_pb.js";
import { noParts } from "../../core/chat-messages.js";
import { drawnImage } from "../../core/drawn.js";
import { isObject, type JsonObject, jsonOf, parseJson } from "../../core/json.js";
import type { LeftOut } from "./left-out.js";

/**
 * Pictures of a message, or of a piece of one: OpenRouter, LiteLLM and Lintel have them in `images`, vLLM-Omni
 * and Livepeer among the parts of `content`.
 * @param left gets what says that it is a picture and has none
 */
export function readImages({ images, content }: JsonObject, left: LeftOut): ContentPart[] {
  if (!Array.isArray(images) && !Array.isArray(content)) return noParts;
  const read: ContentPart[] = [];
  for (const image of Array.isArray(images) ? images : []) take(image, read, left);
  for (const part of Array.isArray(content) ? content : []) {
    if (isObject(part) && part.type === "image_url") take(part, read, left);
  }
  return read;
}

function take(image: unknown, into: ContentPart[], left: LeftOut): void {
  const url = urlOf(image);
  if (url === "") left.ofKind("image");
  else {
    const { extra_content: extra } = image as JsonObject;
    into.push(drawnImage(url, isObject(extra) ? (jsonOf(extra) ?? "") : ""));
  }
}

/** Older LiteLLMs have the address in the picture itself. */
function urlOf(image: unknown): string {
  if (!isObject(image)) return "";
  const { image_url: told = image } = image;
  const url = isObject(told) ? told.url : told;
  return typeof url === "string" ? url : "";
}

/** Name of the field that says how pictures are to be. */
export const imageConfig = "image_config";

/** The same, as OpenRouter has it. */
export const writeImageConfig = ({ aspectRatio, imageSize }: ImageConfig) => ({
  aspect_ratio: aspectRatio || undefined,
  image_size: imageSize || undefined,
});

/** `images` of a message that has some, as servers take back what they sent. */
export const writeImages = ({ images }: LLMMessage) => ({
  images: images.map(({ type, imageUrl, extraContent }) => ({
    type,
    image_url: { url: imageUrl?.url },
    extra_content: extraContent ? parseJson(extraContent) : undefined,
  })),
});
