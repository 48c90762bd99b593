/** Pictures that a model drew in its answer. */
import type { ContentPart, LLMChoice } from "../../gen/lintel/v1/chat_pb.js";
import { deltaChoice, noParts } from "./chat-messages.js";
import { partTokens } from "./estimate.js";
import { inlineImage } from "./image-urls.js";
import { isJsonOf, isObject } from "./json.js";
import { wellFormed } from "./well-formed.js";

/**
 * A picture.
 * @param url a `data:` URL, or an address of the model server's
 * @param extraContent what the server wants to see again with it, a JSON object as text; empty: nothing
 */
export const drawnImage = (url: string, extraContent = ""): ContentPart => ({
  $typeName: "lintel.v1.ContentPart",
  type: "image_url",
  imageUrl: { $typeName: "lintel.v1.ImageUrl", url, detail: "" },
  ...(extraContent !== "" && { extraContent }),
});

/** A piece of a streamed completion that has pictures. */
export function imagesChoice(images: ContentPart[]): LLMChoice {
  const choice = deltaChoice("", "");
  if (choice.delta) choice.delta.images = images;
  return choice;
}

/** Pictures as callers get them: those that are some. As a rule there are none. */
export const imagesFor = (images: ContentPart[]): ContentPart[] =>
  images.length === 0 ? noParts : images.flatMap(imageFor);

function imageFor({ imageUrl, extraContent = "" }: ContentPart): ContentPart[] {
  const url = imageUrl?.url ?? "";
  if (!inlineImage(url) && !/^https?:\/\/[^\s/]/i.test(url)) return [];
  const extra = wellFormed(extraContent);
  return [drawnImage(wellFormed(url), isJsonOf(extra, isObject) ? extra : "")];
}

/** Letters of pictures, which are bytes: an answer has room for so many. */
export const lengthOfImages = (images: readonly ContentPart[]): number =>
  images.reduce((sum, { imageUrl, extraContent = "" }) => {
    return sum + (imageUrl?.url.length ?? 0) + extraContent.length;
  }, 0);

/** Bytes of text of as many tokens as about pictures have: four for each token. */
export const textOfImages = (images: readonly ContentPart[]): number =>
  images.length * (partTokens.image_url ?? 0) * 4;
