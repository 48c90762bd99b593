/** OpenAI's image request to the contract's, and the answer back. */
import {
  type TextToImageRequest,
  TextToImageRequestSchema,
  type TextToImageResponse,
} from "../../../gen/lintel/v1/image_pb.js";
import { defaultOf } from "../../core/defaults.js";
import { invalidFields, type LintelError, type Violation } from "../../core/errors.js";
import { type JsonObject, withMembers } from "../../core/json.js";
import { compileDecoder } from "../json/decode.js";
import { fieldsOf } from "../json/known.js";
import type { JsonText } from "../json/parts.js";
import type { Names } from "../json/rename.js";
import { endUserFields, readEndUser } from "./end-user.js";
import { checkParameters, fieldsOfRules, imageParameters } from "./parameters.js";

/** What a request asks for. */
export interface ImageRequest {
  readonly message: TextToImageRequest;
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
};

const decode = compileDecoder(TextToImageRequestSchema);

/** What is read of a request. */
export const imageFields = fieldsOf(TextToImageRequestSchema, {
  ...fieldsOfRules(imageParameters),
  ...endUserFields,
  ...{ model: true, n: true, size: true, response_format: true },
});

/** Reads a request; the contract's further fields may stand in it too, also those that OpenAI calls otherwise. */
export function readImage(json: JsonObject): ImageRequest {
  const warnings: string[] = [];
  const refused = checkParameters(json, imageParameters, warnings);
  const size = sizeOf(json.size);
  const { changed, names, clashes } = merge(json, {
    model_id: json.model === "" ? undefined : json.model,
    num_images_per_prompt: json.n,
    width: size?.width,
    height: size?.height,
  });
  const user = readEndUser(json);
  const asked = withMembers(json, Object.assign(changed, user.asked));
  const form = json.response_format ?? (answersInline(asked.model_id) ? "b64_json" : "url");
  const inline = { include_data: form === "b64_json", include_previews: false };
  const { message, violations } = decode(withMembers(asked, inline));
  violations.push(...clashes);
  if (!size) {
    violations.push({ field: "size", message: 'must be "auto" or like "1024x576"' });
  }
  if (form !== "url" && form !== "b64_json") {
    violations.push({ field: "response_format", message: 'must be "url" or "b64_json"' });
  }
  const defect = violations.length > 0 ? invalidFields(violations) : refused;
  return { message, defect, warnings, names: { ...names, ...user.names } };
}

/**
 * Whether OpenAI answers for a model with images in base64 only, and takes no `response_format`:
 * its clients send none, and read nothing else, whatever stands behind the name here.
 */
const answersInline = (model: unknown) =>
  typeof model === "string" && /^(?:chat)?gpt-image/.test(model);

const defaults = new Map(TextToImageRequestSchema.fields.map((f) => [f.name, defaultOf(f)]));

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
  const images = response.images.flatMap(({ url, seed, nsfw, data }, i) => {
    const comma = i > 0 ? "," : "";
    if (data.length === 0) return [comma + JSON.stringify({ url, seed, nsfw })];
    return [`${comma}{"b64_json":"`, data, `","seed":${seed},"nsfw":${nsfw}}`];
  });
  const rest = warnings.length > 0 ? `,"warnings":${JSON.stringify(warnings)}` : "";
  const created = Math.floor(Date.now() / 1000);
  return [`{"created":${created},"data":[`, ...images, `]${rest}}`];
}

/** @returns `undefined` if it is no size; without numbers if none was asked for */
function sizeOf(size: unknown): { width?: number; height?: number } | undefined {
  if (size === undefined || size === null || size === "auto") return {};
  const match = typeof size === "string" && /^(\d{1,6})x(\d{1,6})$/.exec(size);
  return match ? { width: Number(match[1]), height: Number(match[2]) } : undefined;
}
