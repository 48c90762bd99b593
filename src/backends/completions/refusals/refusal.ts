/** Finds out which optional field a server refused, so that it can be asked again without. */
import type { LLMMessage, LLMRequest } from "../../../../gen/lintel/v1/chat_pb.js";
import { areReadable, files } from "../../../core/documents.js";
import { unsupported } from "../../../core/errors.js";
import { isObject, type JsonObject, parseJson } from "../../../core/json.js";
import { logprobs as logprobsField, modalities } from "../../../core/parameters.js";
import { hasForm } from "../../../core/text-forms.js";
import { mustCall } from "../../../core/tool-calls.js";
import { errorBodies, messageIn, wordsIn } from "../../http/error-body.js";
import { string } from "../../http/json.js";
import type { Refused } from "../../http/refused.js";
import { tools } from "../fields.js";
import { signedThoughts } from "../thoughts.js";
import { beyondContext } from "./beyond-context.js";
import { refusesLogprobs } from "./logprobs.js";
import { images, inOddWords, inWords, inWordsAlone, sounds } from "./words.js";

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
    ...(hasForm(request) ? ["response_format"] : []),
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
