/** What a request of the Gemini API says of how to answer, to the contract's fields. */
import { type LintelError, unsupported, type Violation } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { effortOfBudget } from "../json/thinking-budget.js";
import { drawingForms, readDrawing } from "./drawing.js";
import { member, objectIn } from "./member.js";
import { numberOf } from "./number.js";
import { readSchema } from "./schema.js";

/** What became of `generationConfig`. */
export interface Generation {
  /** The contract's fields, as it has them in JSON. */
  readonly asked: JsonObject;
  /** What the client calls the answer's schema. */
  readonly schema: string;
  /** What it calls how much to think. */
  readonly effort: string;
  readonly refused: LintelError | undefined;
}

/** Fields that only tune, and that nothing here does. */
const dropped = [
  ...["speechConfig", "audioTimestamp", "routingConfig", "modelSelectionConfig"],
  ...["audioTranscriptionConfig", "translationConfig"],
];

const at = "generationConfig";

/**
 * Reads it.
 * @param warnings gets a line for each field that is dropped
 * @param into gets what has the wrong type, by the client's names
 */
export function readGeneration(
  json: JsonObject,
  warnings: string[],
  into: Violation[],
): Generation {
  const wrong = (field: string, message: string) => into.push({ field, message });
  const written = objectIn(json, at, () => wrong(at, "must be an object"));
  const config = withForm(written, wrong);
  for (const name of dropped) {
    const value = numberOf(member(config, name));
    if (value !== undefined && value !== false && value !== 0) {
      warnings.push(`${at}.${name}: not supported, ignored`);
    }
  }
  const thinking = objectIn(config, "thinkingConfig", () =>
    wrong(`${at}.thinkingConfig`, "must be an object"),
  );
  const thoughts = member(thinking, "includeThoughts") ?? false;
  if (typeof thoughts !== "boolean") {
    wrong(`${at}.thinkingConfig.includeThoughts`, "must be true or false");
  }
  const { modalities, image_config, refused } = readDrawing(config, at, warnings, wrong);
  const plain = plainSchema(config) !== undefined;
  const older = plain ? "responseJsonSchema" : "responseSchema";
  const schema = `${at}.${config === written ? older : "responseFormat"}`;
  const asked = {
    modalities,
    image_config,
    temperature: numberOf(member(config, "temperature")),
    top_p: numberOf(member(config, "topP")),
    top_k: numberOf(member(config, "topK")),
    max_tokens: numberOf(member(config, "maxOutputTokens")),
    seed: numberOf(member(config, "seed")),
    presence_penalty: numberOf(member(config, "presencePenalty")),
    frequency_penalty: numberOf(member(config, "frequencyPenalty")),
    logprobs: member(config, "responseLogprobs"),
    top_logprobs: numberOf(member(config, "logprobs")),
    stop: member(config, "stopSequences"),
    response_format: formatOf(config, schema, wrong),
    reasoning_effort: effortOf(thinking, wrong),
    // Who does not ask for thoughts gets none.
    include_reasoning: thoughts === true,
  };
  const level = member(thinking, "thinkingLevel") === undefined ? "" : ".thinkingLevel";
  const effort = `${at}.thinkingConfig${level}`;
  return { asked, schema, effort, refused: refusedIn(config, refused) };
}

/**
 * The fields that a `responseFormat` of a text stands for, which Vertex AI has in their place: a list
 * of forms, or one. What asks for another form than a text, or a picture, is as a modality of that.
 */
function withForm(config: JsonObject, wrong: (field: string, message: string) => void): JsonObject {
  const format = member(config, "responseFormat");
  const forms: readonly unknown[] = Array.isArray(format) ? format : format == null ? [] : [format];
  if (forms.length === 0) return config;
  if (!forms.every(isObject)) {
    wrong(`${at}.responseFormat`, "must be an object, or an array of objects");
    return config;
  }
  const texts = forms.map((form) => member(form, "text"));
  const text = texts.find(isObject) ?? {};
  const type = String(member(text, "mimeType") ?? "text/plain").toLowerCase();
  return {
    ...config,
    ...drawingForms(forms),
    responseMimeType: type.replace(/^(application|text)_/, "$1/"),
    responseSchema: undefined,
    response_schema: undefined,
    responseJsonSchema: text.schema ?? undefined,
  };
}

/** @param drawing why its modalities are */
function refusedIn(config: JsonObject, drawing?: LintelError): LintelError | undefined {
  const count = numberOf(member(config, "candidateCount") ?? 1);
  if (count !== 1) return unsupported(`${at}.candidateCount`, "this gateway makes one only");
  if (drawing) return drawing;
  const type = typeOf(config);
  if (type !== undefined && type !== "text/plain" && type !== json && type !== choice) {
    return unsupported(
      `${at}.responseMimeType`,
      `this gateway supports only text/plain, ${json} and ${choice}`,
    );
  }
  return undefined;
}

const json = "application/json";

/** One of the texts that the schema lists, and nothing around it. */
const choice = "text/x.enum";

const typeOf = (config: JsonObject): unknown => member(config, "responseMimeType") || undefined;

const plainSchema = (config: JsonObject): unknown =>
  member(config, "responseJsonSchema") ?? member(config, "_responseJsonSchema");

/** @param at what the client calls its schema */
function formatOf(
  config: JsonObject,
  at: string,
  wrong: (field: string, message: string) => void,
): unknown {
  const type = typeOf(config);
  if (type !== json && type !== choice) return undefined;
  const plain = plainSchema(config);
  const own = member(config, "responseSchema");
  if (type === choice) {
    const listed = plain ?? own;
    const texts = isObject(listed) ? listed.enum : undefined;
    if (Array.isArray(texts) && texts.length > 0) return { type: "choice", choice: texts };
    wrong(`${at}.enum`, `must be an array of texts where the type is ${choice}`);
    return undefined;
  }
  if (plain === undefined && own === undefined) return { type: "json_object" };
  const schema = readSchema(own, plain, (why) => wrong(at, why));
  return { type: "json_schema", json_schema: { name: "output", schema } };
}

/** How much to think; `undefined` where that is left to the model. */
function effortOf(thinking: JsonObject, wrong: (field: string, message: string) => void): unknown {
  const level = member(thinking, "thinkingLevel");
  if (level !== undefined) {
    if (typeof level !== "string") return level;
    const effort = level.toLowerCase();
    return effort === "thinking_level_unspecified" ? undefined : effort;
  }
  const budget = numberOf(member(thinking, "thinkingBudget"));
  if (budget === undefined || budget === -1) return undefined;
  if (typeof budget !== "number" || !Number.isInteger(budget) || budget < -1) {
    wrong(`${at}.thinkingConfig.thinkingBudget`, "must be an integer of at least -1");
    return undefined;
  }
  return budget === 0 ? "none" : effortOfBudget(budget);
}
