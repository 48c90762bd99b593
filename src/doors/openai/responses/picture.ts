/** Pictures of an answer as items of the Responses API, and such items handed back. */
import type { ContentPart } from "../../../../gen/lintel/v1/chat_pb.js";
import { inlineImage } from "../../../core/image-urls.js";
import type { JsonObject } from "../../../core/json.js";
import { toJsonString } from "../../../core/json-string.js";
import { extraText } from "../../json/drawn.js";

/** Type of such items, as OpenAI's own tool for images makes them. */
export const imageCall = "image_generation_call";

/** A picture, as an item of an id. */
export function imageItem(
  id: string,
  { imageUrl, extraContent = "" }: ContentPart,
  status: string,
): string {
  const url = imageUrl?.url ?? "";
  const image = inlineImage(url);
  // OpenAI has the bytes there; what is at an address has no others.
  const format = image ? `,"output_format":${toJsonString(formatOf(image.mediaType))}` : "";
  const result = image ? url.slice(image.start) : url;
  return `{${head(id, status)}${format},"result":${toJsonString(result)}${extraText(extraContent)}}`;
}

/** The same while it is being made. */
export const begunImage = (id: string): string => `{${head(id, "in_progress")},"result":null}`;

const head = (id: string, status: string): string =>
  `"id":"${id}","type":"${imageCall}","status":"${status}"`;

const formatOf = (mediaType: string): string => mediaType.replace(/^image\//i, "").toLowerCase();

/** Begins of pictures in base64, where clients keep nothing but these. */
const begins: readonly (readonly [RegExp, string])[] = [
  [/^\/9j\//, "jpeg"],
  [/^UklGR/, "webp"],
  [/^R0lGOD/, "gif"],
];

/** A picture as the contract has it in JSON, out of such an item; `undefined`: there is none in it. */
export function pictureOf({ result, output_format, extra_content }: JsonObject): unknown {
  if (result === null || result === undefined || result === "") return undefined;
  return { type: "image_url", image_url: { url: urlOf(result, output_format) }, extra_content };
}

function urlOf(result: unknown, said: unknown): unknown {
  if (typeof result !== "string" || /^(?:https?|data):/i.test(result)) return result;
  const known = begins.find(([begin]) => begin.test(result))?.[1];
  const format = known ?? (typeof said === "string" && /^[\w.+-]+$/.test(said) ? said : "png");
  return `data:image/${format};base64,${result}`;
}
