/** Finds out which optional field a server refused, so that it can be asked again without. */

import type { LLMMessage, LLMRequest } from "../../../../gen/lintel/v1/chat_pb.js";
import { isJson } from "../../../core/chat-messages.js";
import { areReadable, files } from "../../../core/documents.js";
import { unsupported } from "../../../core/errors.js";
import { isObject, type JsonObject, parseJson } from "../../../core/json.js";
import { logprobs as logprobsField, modalities } from "../../../core/parameters.js";
import { mustCall } from "../../../core/tool-calls.js";
import { callIds } from "../../call-ids.js";
import { errorBodies, messageIn, wordsIn } from "../../http/error-body.js";
import { string } from "../../http/json.js";
import type { Refused } from "../../http/refused.js";
import { tools } from "../fields.js";
import { refusesOfThoughts, signedThoughts, thinkingBesideTools } from "../thoughts.js";
import { beyondContext, refusesBeyondContext } from "./beyond-context.js";
import { blankMessages, nullContent, refusesBlank, refusesNull } from "./blank.js";
import { brokenArguments, refusesBroken } from "./broken-arguments.js";
import { refusesExtras } from "./extra-content.js";
import {
  logprobsBesideTools,
  refusesBesideTools,
  refusesLogprobs,
  refusesOthers,
  topLogprobs,
} from "./logprobs.js";
import { refusesStreams, refusesWhole, streams, wholeAnswers } from "./one-form.js";
import { partedResults, refusesParted } from "./results.js";
import { refusesToolNames } from "./tool-names.js";
import { refusesToolParts, toolParts } from "./tool-parts.js";
import { refusesToolSchemas } from "./tool-schemas.js";
import { refusesTurns } from "./turns.js";

const refuses =
  /unsupported|not supported|does(?: not|n't) support|unrecognized|unknown|unexpected|extra|not permitted|not allowed|deprecated|only \S+ is allowed|penalty is not enabled/i;

/** One of two has to go: newer Claude models take no `top_p` beside `temperature`. */
const eitherOr = /(?:not|n't) both|only one/i;

/** Of which a model has some, and an account others. */
const serviceTier = "service_tier";

/** Fields that say how to answer: whatever is said of them, the request can go without. */
const ofForm: ReadonlySet<string> = new Set([
  "stream_options",
  "include_previews",
  "response_format",
  "output_format",
  serviceTier,
]);

/** What servers call fields, where that is not their one name. */
const names: Readonly<Record<string, string>> = {
  max_tokens: "max_(?:completion_)?tokens",
  include_previews: "(?:stream|partial_images)",
  size: "(?:(?:image_)?size|width|height)",
  seed: "(?:random_)?seed",
  // xAI says what its own interface calls them, and Google nothing of which.
  frequency_penalty: "(?:frequency_?penalty|penalty is not enabled)",
  presence_penalty: "(?:presence_?penalty|penalty is not enabled)",
  repetition_penalty: "(?:repetition|repeat)_penalty",
  verbosity: "(?:text\\.?)?verbosity",
  num_inference_steps: "(?:num_inference_)?steps?",
  output_format: "(?:output_format|image_format|response_extension)",
  // Google's and Bedrock's own interfaces have others.
  response_format: "(?:response_format|json mode|response mime type)",
  tool_choice: "(?:tool_choice|toolConfig\\.toolChoice)",
  reasoning_effort:
    "(?:reasoning[_. ]?effort|effort parameter|output_config\\.effort|(?:enable_)?thinking(?:_?(?:config|level|budget))?|chat_template_kwargs)",
};

/**
 * Tools, whatever they are, in the words of Ollama, Groq, vLLM, llama.cpp, OpenRouter, Google and
 * Bedrock: of a schema that is not supported it says nothing.
 */
const refusesTools =
  /does(?: not|n't) support (?:tools|tool (?:us|call)|function call)|function calling is not enabled|no endpoints found that support tool use|tool (?:use|calling)\W* is not supported|tool choice requires --|tools param requires --/i;

/** Stands for images in messages. */
const images = "image_url";

/** Of models that see nothing, in the words of OpenAI, DeepSeek, vLLM, Ollama, llama.cpp, OpenRouter and the AI SDK. */
const refusesImages =
  /media type\W+image\/|image_url['`"]? is only supported by|unknown variant `image_url`|at most 0 image|(?:does not|doesn't|not) support (?:image|vision|multimodal)|not a multimodal model|image input (?:is not supported|which)|no endpoints found that support image input/i;

/**
 * Parts of a type that a server does not know, in the words of OpenAI, LM Studio, vLLM, Alibaba, Google,
 * TGI and DeepSeek, Mistral, llama.cpp and Ollama: the last two don't say which.
 */
const refusesParts = (type: string) =>
  `unknown variant .${type}\\b|invalid (?:value|content part type)\\W+${type}\\b|(?:unknown|unsupported) (?:chat )?(?:content )?part type\\W+${type}\\b|input tag .${type}\\b|\\btext'? or '?image_url\\b|unsupported content\\[\\]\\.type|invalid message format`;

/** Files in messages, also in the words of OpenRouter, Anthropic, Google and the AI SDK. */
const refusesFiles = new RegExp(
  `${refusesParts("file")}|(?:media|mime) type\\W+(?!image|audio)\\w+/|pdf file parts|support (?:\\w+ )?(?:files?|documents?|pdfs?)\\b|(?:file|document|pdf)s?\\W{1,3}(?:content|input)s?(?: types?)? (?:is|are) not supported`,
  "i",
);

/** Stands for sounds in messages. */
const sounds = "input_audio";

/** Of models that hear nothing, also in the words of OpenRouter, llama.cpp and the AI SDK. */
const refusesSounds = new RegExp(
  `${refusesParts(sounds)}|media type\\W+audio/|audio file parts|at most 0 audio|not support (?:input )?audio|support input audio|not a multimodal model|audio input is not supported`,
  "i",
);

/**
 * Ids of calls, in the words of Mistral's interface and of its templates, of Anthropic, OpenAI and Bedrock.
 */
const refusesIds =
  /\btool call ids?\b.{0,160}\b(?:must|should) be\b|\btool_use(?:_id|\.id)\b.{0,80}\bpattern\b|\btoolUseId\b.{0,200}\b(?:pattern|length)\b|\b(?:call_id|tool_call_id|tool_calls\[\d+\]\.id)\b.{0,80}\btoo long\b/is;

/** Stands for the end user's id among what servers refuse. */
export const endUser = "end user's id";

/** That they know no such field, in the words of OpenAI, Anthropic, Mistral, Groq, xAI, Cohere, Google, Bedrock, serde's and others' checks. */
const refusesUser = (() => {
  const name = "(?:user|safety_identifier|metadata(?:[. ]user_id)?)";
  const quoted = `["'\`[]${name}["'\`\\]]`;
  const un = "un(?:supported|known|expected|recognized)";
  const not = `(?:${un}|not (?:supported|permitted|allowed|a valid field))`;
  return new RegExp(
    `\\b(?:${un}|extra|not supported)\\b(?:(?!role)[\\w ]){0,40}(?:: ?${name}\\b(?! \\w)|:? ?${quoted})|${quoted}(?: \\w+){0,4}? ${not}|\\b(?:body ${name} (?:value_error\\.)?|${name}: )extra`,
    "i",
  );
})();

/** What is refused in words of its own, not by a field's name. */
const inWords: Readonly<Record<string, RegExp>> = {
  ...refusesOfThoughts,
  [tools]: refusesTools,
  [callIds]: refusesIds,
  [endUser]: refusesUser,
  [images]: refusesImages,
  [files]: refusesFiles,
  [sounds]: refusesSounds,
  [blankMessages]: refusesBlank,
  [brokenArguments]: refusesBroken,
  [beyondContext]: refusesBeyondContext,
  [toolParts]: refusesToolParts,
  [nullContent]: refusesNull,
  [streams]: refusesStreams,
  [wholeAnswers]: refusesWhole,
  [logprobsField]: refusesLogprobs,
  [logprobsBesideTools]: refusesBesideTools,
  [topLogprobs]: refusesOthers,
  [partedResults]: refusesParted,
  ...refusesTurns,
  ...refusesExtras,
  ...refusesToolSchemas,
  ...refusesToolNames,
};

/** Of these what names another field as well. */
const inWordsAlone: ReadonlySet<string> = new Set([endUser, thinkingBesideTools]);

/** What is told with other statuses, too. */
const inOddWords: ReadonlySet<string> = new Set([
  ...[tools, images, files, sounds, callIds, blankMessages, brokenArguments, partedResults],
  ...[logprobsField, ...Object.keys(refusesTurns)],
]);

/**
 * The optional field that an error names as not known or not supported;
 * `undefined` if the error is about something else, for example its value.
 * @param fields those that the request could go without
 * @param ours those among them whose value nobody chose: whatever is said of it, they can go
 */
export function refusedField<F extends string>(
  status: number,
  body: string,
  fields: readonly F[],
  ours: readonly F[] = [],
): F | undefined {
  // OpenRouter and mlx-lm have no such model then, llama.cpp thinks that it failed, and vLLM that it will do so later.
  const odd = status === 404 || status === 500 || status === 501;
  const isForbidden = status === 403;
  if (status !== 400 && status !== 422 && !odd && !isForbidden) return undefined;
  const text = wordsOf(body);
  if (isForbidden)
    return fields.find((field) => field === logprobsField && refusesLogprobs.test(text));
  if (odd) return fields.find((field) => inOddWords.has(field) && inWords[field]?.test(text));
  // Words of these name them alone; others may stand behind or within, as those that are known.
  const alone = fields.find((field) => inWordsAlone.has(field) && inWords[field]?.test(text));
  if (alone !== undefined) return alone;
  const isNamed = (field: string) => !inWords[field] && named(field).test(text);
  if (eitherOr.test(text) && isNamed("temperature")) {
    return fields.find((field) => field === "top_p" && isNamed(field));
  }
  const unwanted = (field: F) => ofForm.has(field) || ours.includes(field);
  return (
    fields.find((field) => isNamed(field) && (unwanted(field) || refuses.test(text))) ??
    fields.find((field) => inWords[field]?.test(text))
  );
}

/**
 * A refusal whose error names what the caller can't be answered without, such as `stop`: another
 * target may take it.
 * @param learn hears of files that are refused, though they can be told as text: to later calls at once; and, where
 *   the call fails for them, of logprobs, for which the model is asked no more
 */
export function aboutNeeded(
  refused: Refused,
  request: LLMRequest,
  learn: (field: string) => void,
): Refused {
  const { status, body } = refused;
  const param = refusedField(status, body, neededBy(request));
  if (!param) return refused;
  if (param === files && areReadable(request)) learn(files);
  return {
    ...refused,
    failure() {
      if (param === logprobsField) learn(param);
      const failure = refused.failure();
      const odd = failure.code !== "invalid_value";
      if (odd && !inOddWords.has(param)) return failure;
      return odd ? unsupported(param) : unsupported(param, failure.message);
    },
  };
}

const hasPart = (messages: readonly LLMMessage[], type: string): boolean =>
  messages.some(({ parts }) => parts.some((part) => part.type === type));

/** What of a request its caller is not served without. */
export function neededBy(request: LLMRequest): string[] {
  const { messages, stop } = request;
  return [
    ...(stop.length > 0 ? ["stop"] : []),
    ...(mustCall(request) ? [tools, "tool_choice"] : []),
    ...(isJson(request) ? ["response_format"] : []),
    ...(request.modalities.includes("image") ? [modalities] : []),
    ...(request.logprobs ? [logprobsField] : []),
    ...[images, files, sounds].filter((type) => hasPart(messages, type)),
  ];
}

const ofValue =
  /\bvalues?\b|must (?:be|fit)|between|range|at (?:most|least)|m(?:ax|in)imum|(?:less|greater) than|[<>]=?\s*\d/i;

/** No other value may do: there is no such field, or one value is left, which is that of who sends none. */
const fixed = /extra inputs|only (?:the default|\S+ is allowed)/i;

/** There is no field of that name. */
const noField = /unrecognized|unknown|unexpected|extra|not permitted/i;

/** OpenAI's words of models that can't be told how much to say: this is how much they do. */
const mediumAlone = /supported values are: 'medium'(?!,| and| or)/i;

/**
 * Whether an error is about what a field holds: another value may do. So may another size, of
 * which servers say no more than "not supported", and the thoughts, or the room, of another conversation.
 */
export function aboutValue(body: string, field: string): boolean {
  if (field === "size" || field === signedThoughts || field === beyondContext) return true;
  const text = wordsOf(body);
  if (field === serviceTier) return !noField.test(text);
  if (field === "verbosity" && mediumAlone.test(text)) return false;
  return !ofForm.has(field) && ofValue.test(text) && !fixed.test(text);
}

/** Whether an error names a field, whatever it says of it. */
export const namesField = (body: string, field: string): boolean =>
  named(field).test(wordsOf(body));

const named = (field: string) => new RegExp(`(?<![\\w.])${names[field] ?? field}(?!\\w)`, "i");

/** What an error says, in its message and beside it. */
export function wordsOf(text: string): string {
  const body = parseJson(text);
  return [messageIn(body), ...errorBodies(body).map(codesOf)].join(" ");
}

/** What an error says besides its message: `param`, `code`, and FastAPI's `loc` and `type`. */
function codesOf(body: JsonObject): string {
  const error = isObject(body.error) ? body.error : body;
  const { detail } = wordsIn(error);
  const details = Array.isArray(detail) ? detail.filter(isObject) : [];
  return [
    string(error.param),
    string(error.code),
    ...details.flatMap(({ loc, type }) => [Array.isArray(loc) ? loc.join(" ") : "", string(type)]),
  ].join(" ");
}
