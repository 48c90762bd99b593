/** What a request of the Gemini API says of pictures in the answer, to the contract's fields. */
import { type LintelError, unsupported } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { member, objectIn } from "./member.js";

/** The contract's fields, as it has them in JSON. */
export interface Drawing {
  readonly modalities: unknown;
  readonly image_config: JsonObject | undefined;
  /** Where what is asked for is neither text nor a picture. */
  readonly refused: LintelError | undefined;
}

/** Members of `imageConfig` that only tune, and that nothing here does. */
const dropped = ["personGeneration", "prominentPeople", "imageOutputOptions"];

/** What is read of `imageConfig`. */
export const imageConfigNames = ["aspectRatio", "imageSize", ...dropped];

/**
 * Reads `responseModalities` and `imageConfig`.
 * @param at where they stand
 * @param warnings gets a line for each member that is dropped
 * @param wrong gets a field that has the wrong type, and what is allowed
 */
export function readDrawing(
  config: JsonObject,
  at: string,
  warnings: string[],
  wrong: (field: string, message: string) => void,
): Drawing {
  const image = objectIn(config, "imageConfig", () =>
    wrong(`${at}.imageConfig`, "must be an object"),
  );
  for (const name of dropped) {
    if (member(image, name) === undefined) continue;
    warnings.push(`${at}.imageConfig.${name}: not supported, ignored`);
  }
  const how = {
    aspect_ratio: member(image, "aspectRatio"),
    image_size: member(image, "imageSize"),
  };
  const isSaid = Object.values(how).some((value) => value !== undefined);
  const { modalities, refused } = modalitiesIn(config, at);
  return { modalities, image_config: isSaid ? how : undefined, refused };
}

/** One that is not said, in words, asks for nothing. */
const unspecified = "MODALITY_UNSPECIFIED";

function modalitiesIn(config: JsonObject, at: string): Pick<Drawing, "modalities" | "refused"> {
  const said = member(config, "responseModalities") ?? [];
  const words: unknown[] = Array.isArray(said) ? said : [said];
  const asked = words.map((one) => (typeof one === "string" ? one.toUpperCase() : one));
  const modalities = asked.filter((one) => one !== unspecified);
  if (!modalities.every((one) => one === "TEXT" || one === "IMAGE")) {
    const why = "this gateway answers with TEXT and IMAGE only";
    return { modalities: [], refused: unsupported(`${at}.responseModalities`, why) };
  }
  return { modalities: modalities.map((one) => one.toLowerCase()), refused: undefined };
}

/**
 * The modalities and the `imageConfig` that a `responseFormat` stands for, which Vertex AI has in their
 * place; nothing where it asks for texts alone.
 * @param forms those that are asked for, one or several
 */
export function drawingForms(forms: readonly JsonObject[]): JsonObject | undefined {
  const images = forms.map((form) => member(form, "image")).filter(isObject);
  const texts = forms.filter((form) => isObject(member(form, "text")));
  if (images.length === 0 && texts.length === forms.length) return undefined;
  if (images.length + texts.length < forms.length) return { responseModalities: ["OTHER"] };
  const responseModalities = [...(texts.length > 0 ? ["TEXT"] : []), "IMAGE"];
  return { responseModalities, imageConfig: images[0] };
}
