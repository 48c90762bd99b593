/** What servers refuse in words of their own, which name no field, or another one. */
import { files } from "../../../core/documents.js";
import { logprobs as logprobsField } from "../../../core/parameters.js";
import { callIds } from "../../call-ids.js";
import { tools } from "../fields.js";
import { refusesOfThoughts, thinkingBesideTools } from "../thoughts.js";
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

/**
 * Tools, whatever they are, in the words of Ollama, Groq, vLLM, llama.cpp, OpenRouter, Google and
 * Bedrock: of a schema that is not supported it says nothing.
 */
const refusesTools =
  /does(?: not|n't) support (?:tools|tool (?:us|call)|function call)|function calling is not enabled|no endpoints found that support tool use|tool (?:use|calling)\W* is not supported|tool choice requires --|tools param requires --/i;

/** Stands for images in messages. */
export const images = "image_url";

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
export const sounds = "input_audio";

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
export const inWords: Readonly<Record<string, RegExp>> = {
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
export const inWordsAlone: ReadonlySet<string> = new Set([endUser, thinkingBesideTools]);

/** What is told with other statuses, too. */
export const inOddWords: ReadonlySet<string> = new Set([
  ...[tools, images, files, sounds, callIds, blankMessages, brokenArguments, partedResults],
  ...[logprobsField, ...Object.keys(refusesTurns)],
]);
