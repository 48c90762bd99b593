/** Pictures of an answer in JSON, as OpenRouter and LiteLLM have them. */
import type { ContentPart } from "../../../gen/lintel/v1/chat_pb.js";
import { parseJson } from "../../core/json.js";
import { toJsonLine, toJsonString } from "../../core/json-string.js";

/**
 * `images`, where there are any, as they follow other members.
 * @param from number of the first: OpenAI's client for Python looks for one in lists of objects that come in pieces
 */
export function imagesText(images: readonly ContentPart[] = [], from = 0): string {
  if (images.length === 0) return "";
  const texts = images.map(
    ({ imageUrl, extraContent = "" }, i) =>
      `{"index":${from + i},"type":"image_url","image_url":{"url":${toJsonString(imageUrl?.url ?? "")}}${extraText(extraContent)}}`,
  );
  return `,"images":[${texts.join(",")}]`;
}

/** What a model server wants to see again with a call or a picture, as it follows other members. @param extra a JSON object as text; empty: nothing */
export function extraText(extra: string): string {
  const value = extra === "" ? undefined : parseJson(extra);
  return value === undefined ? "" : `,"extra_content":${toJsonLine(value as object)}`;
}
