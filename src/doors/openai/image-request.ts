/** OpenAI's image request to the contract's, and the answer back. */
import {
  type TextToImageRequest,
  TextToImageRequestSchema,
  type TextToImageResponse,
} from "../../../gen/lintel/v1/image_pb.js";
import { impliedBy } from "../../core/defaults.js";
import { invalidIn, type LintelError, type Violation } from "../../core/errors.js";
import { type JsonObject, withMembers } from "../../core/json.js";
import { nowSeconds } from "../../core/stamp.js";
import { compileDecoder } from "../json/decode.js";
import { answerForm } from "../json/fields.js";
import { fieldsOf } from "../json/known.js";
import { mediaText } from "../json/media.js";
import type { JsonText } from "../json/parts.js";
import type { Names } from "../json/rename.js";
import { endUserFields, readEndUser } from "./end-user.js";
import { checkParameters, fieldsOfRules } from "./parameter-rules.js";
import { imageParameters } from "./parameters.js";

/** What a request asks for. */
export interface ImageRequest {
  readonly message: TextToImageRequest;
  readonly stream: boolean;
  /** Most partial images of each image, in a stream; 0 to 3. */
  readonly partials: number;
  readonly defect: LintelError | undefined;
  /** What was dropped. */
  readonly warnings: readonly string[];
  readonly names: Names;
}

/** How OpenAI calls the contract's fields. */
const openaiNames: Names = {
  model_id: "model",
  num_images_per_prompt: "n",
  width: "size",
  height: "size",
  include_previews: "partial_images",
};

/** Most partial images that OpenAI makes of an image. */
const mostPartials = 3;

const decode = compileDecoder(TextToImageRequestSchema);

/** What is read of a request. */
export const imageFields = fieldsOf(TextToImageRequestSchema, {
  ...fieldsOfRules(imageParameters),
  ...endUserFields,
  ...{ model: true, n: true, size: true, response_format: true },
  ...{ stream: true, partial_images: true },
});

/** Reads a request; the contract's further fields may stand in it too, also those that OpenAI calls otherwise. */
export function readImage(json: JsonObject): ImageRequest {
  const warnings: string[] = [];
  const refused = checkParameters(json, imageParameters, warnings);
  const wrong: Violation[] = [];
  const { stream } = answerForm({ stream: json.stream }, wrong);
  const asked = json.partial_images ?? undefined;
  const partials = readPartials(asked, wrong);
  if (!stream && partials > 0) warnings.push("partial_images: only in streams, ignored");
  const size = sizeOf(json.size);
  const { changed, names, clashes } = merge(json, {
    model_id: json.model === "" ? undefined : json.model,
    num_images_per_prompt: json.n,
    width: size?.width,
    height: size?.height,
    include_previews: stream && asked !== undefined ? partials > 0 : undefined,
  });
  const user = readEndUser(json);
  const said = withMembers(json, Object.assign(changed, user.asked));
  const inline = stream || answersInline(said.model_id);
  const form = json.response_format || (inline ? "b64_json" : "url");
  const { message, violations } = decode(withMembers(said, { include_data: form === "b64_json" }));
  violations.push(...clashes, ...wrong);
  if (!size) {
    violations.push({ field: "size", message: 'must be "auto" or like "1024x576"' });
  }
  if (stream && form !== "b64_json") {
    violations.push({ field: "response_format", message: 'must be "b64_json" in a stream' });
  } else if (form !== "url" && form !== "b64_json") {
    violations.push({ field: "response_format", message: 'must be "url" or "b64_json"' });
  }
  const defect = invalidIn(violations) ?? refused;
  return {
    message,
    defect,
    warnings,
    stream,
    partials: asked === undefined && message.includePreviews ? mostPartials : partials,
    names: { ...names, ...user.names },
  };
}

function readPartials(asked: unknown, into: Violation[]): number {
  if (asked === undefined) return 0;
  if (typeof asked === "number" && Number.isInteger(asked) && asked >= 0 && asked <= mostPartials) {
    return asked;
  }
  into.push({ field: "partial_images", message: `must be an integer from 0 to ${mostPartials}` });
  return 0;
}

/**
 * Whether OpenAI answers for a model with images in base64 only, and takes no `response_format`:
 * its clients send none, and read nothing else, whatever stands behind the name here.
 */
const answersInline = (model: unknown) =>
  typeof model === "string" && /^(?:chat)?gpt-image/.test(model);

const defaults = new Map(TextToImageRequestSchema.fields.map((f) => [f.name, impliedBy(f)]));

/** Whether a value counts as not set: clients that send every field send most of them so. */
const isDefault = (field: string, value: unknown) =>
  value == null || value === "" || value === defaults.get(field);

/** What OpenAI's fields say, by the contract's names, where nothing else is said by those. */
function merge(json: JsonObject, said: JsonObject) {
  const changed: Record<string, unknown> = {};
  const names: Record<string, string> = { ...openaiNames };
  const clashes: Violation[] = [];
  for (const field of Object.keys(openaiNames)) {
    const value = said[field] ?? undefined;
    const own = json[field];
    if (value === undefined) {
      // Also a default, which is asked for where the other side of a size is.
      if (own != null) delete names[field];
      continue;
    }
    changed[field] = value;
    if (!isDefault(field, own) && own !== value) {
      clashes.push({ field, message: `must say the same as ${field}, or be left out` });
    }
  }
  return { changed, names, clashes };
}

/** The answer as JSON text. */
export function wholeOpenAIImages(
  response: TextToImageResponse,
  notes: readonly string[],
): JsonText {
  const warnings = [...notes, ...response.warnings];
  const images = response.images.flatMap((media, i) => {
    const { url, data } = media;
    const comma = i > 0 ? "," : "";
    if (data.length === 0) return [`${comma}{"url":${JSON.stringify(url)},${mediaText(media)}}`];
    return [`${comma}{"b64_json":"`, data, `",${mediaText(media)}}`];
  });
  const rest = warnings.length > 0 ? `,"warnings":${JSON.stringify(warnings)}` : "";
  return [`{"created":${nowSeconds()},"data":[`, ...images, `]${rest}}`];
}

/** @returns `undefined` if it is no size; without numbers if none was asked for */
function sizeOf(size: unknown): { width?: number; height?: number } | undefined {
  if (size === undefined || size === null || size === "" || size === "auto") return {};
  const match = typeof size === "string" && /^(\d{1,6})x(\d{1,6})$/.exec(size);
  return match ? { width: Number(match[1]), height: Number(match[2]) } : undefined;
}
