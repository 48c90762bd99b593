/**
 * Makes a request fit one model: what the model does not support is dropped or
 * refused, and every default is filled in.
 */
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import { asksForSize, chatDefaults, imageDefaults, isBiased, noBias } from "./defaults.js";
import { invalidFields, unsupported } from "./errors.js";
import { imagesToOthers, marksFor, withFewerParts, withoutTools } from "./fit-messages.js";
import { capOf, type Parameter, planOf, type Values } from "./parameters.js";
import type { Bounds, ModelSettings, UnsupportedPolicy } from "./settings.js";
import { textFormOf } from "./text-forms.js";
import { notSupported, type Warnings } from "./warnings.js";

/** A request of either operation. */
type Request = LLMRequest | TextToImageRequest;

/** A message with all its fields, set or not: the compiler says so where the contract has one more. */
type Every<T> = { -readonly [K in keyof Required<T>]: T[K] };

/*
 * Field by field, so that all copies have one shape: copied by spreading, with
 * fields added one by one, they were half of what the core left to the garbage
 * collector, and outlived their calls.
 */
const copyChat = (request: LLMRequest, model: string): Every<LLMRequest> => ({
  $typeName: request.$typeName,
  $unknown: request.$unknown,
  messages: request.messages,
  model,
  temperature: request.temperature,
  maxTokens: request.maxTokens,
  topP: request.topP,
  // All, as -1, which counts as not set.
  topK: request.topK === 0 ? undefined : request.topK,
  seed: request.seed,
  stop: request.stop,
  tools: request.tools,
  toolChoice: request.toolChoice,
  parallelToolCalls: request.parallelToolCalls,
  responseFormat: request.responseFormat,
  reasoningEffort: request.reasoningEffort,
  includeReasoning: request.includeReasoning,
  user: request.user,
  promptCacheKey: request.promptCacheKey,
  modalities: request.modalities,
  imageConfig: request.imageConfig,
  frequencyPenalty: request.frequencyPenalty,
  presencePenalty: request.presencePenalty,
  repetitionPenalty: request.repetitionPenalty,
  minP: request.minP,
  logprobs: request.logprobs,
  topLogprobs: request.topLogprobs,
  verbosity: request.verbosity,
  serviceTier: request.serviceTier,
  logitBias: isBiased(request.logitBias) ? request.logitBias : noBias,
});

const copyImage = (request: TextToImageRequest, modelId: string): Every<TextToImageRequest> => ({
  $typeName: request.$typeName,
  $unknown: request.$unknown,
  modelId,
  prompt: request.prompt,
  loras: request.loras,
  height: request.height,
  width: request.width,
  guidanceScale: request.guidanceScale,
  negativePrompt: request.negativePrompt,
  safetyCheck: request.safetyCheck,
  seed: request.seed,
  numInferenceSteps: request.numInferenceSteps,
  numImagesPerPrompt: request.numImagesPerPrompt,
  includeData: request.includeData,
  includePreviews: request.includePreviews,
  user: request.user,
});

/**
 * The request as a model can take it, naming the model as its backend does.
 * @param bounds the operator's, which defaults are moved into
 * @param warnings gets a line for everything dropped
 * @param cuts whether the caller's own `max_tokens` above the cap is cut to it, too
 * @param reads whether somebody reads documents to models that take no files
 * @throws LintelError `unsupported_parameter`, or `invalid_fields` where the
 *   caller's own `max_tokens` is above the model's cap; defaults are cut to it
 */
export function fitRequest<R extends Request>(
  request: R,
  model: Model,
  settings: ModelSettings | undefined,
  bounds: Bounds,
  warnings: Warnings,
  cuts = false,
  reads = false,
): R {
  const chat = request.$typeName === "lintel.v1.LLMRequest";
  const { unset, parameters } = planOf(model, settings, bounds, chat);
  const fitted: Values = chat
    ? copyChat(marksFor(model, request), model.id)
    : copyImage(request, model.id);
  const sized = !chat && asksForSize(request);
  for (const parameter of parameters) {
    const { key, fallback, isSide, supported } = parameter;
    const value = fitted[key];
    if (isSet(value, sized && isSide ? undefined : fallback)) {
      if (supported) continue;
      if (!isIdle(value, parameter)) {
        refuseOrWarn(parameter, settings?.unsupported ?? "default", warnings);
      }
    }
    const instead = unsetValue(unset[key], value);
    if (value !== instead) fitted[key] = instead;
  }
  if (chat) {
    fitTextForm(fitted, model, settings, warnings);
    if (cuts) cutToCap(fitted, model, settings, warnings);
    checkCap(fitted, model, settings);
    if (!model.supports.includes("tools")) withoutTools(fitted, warnings);
    imagesToOthers(fitted, model, warnings);
    withFewerParts(fitted, model, reads);
  }
  // Also where that is the model's default, which differs from target to target.
  else if (isLittle(fitted.guidanceScale)) fitted.negativePrompt = "";
  return fitted as unknown as R;
}

/** The most tokens of a completion that a model is asked for, where the request fits it. */
export function completionTokens(
  { maxTokens }: LLMRequest,
  model: Model,
  settings: ModelSettings | undefined,
  bounds: Bounds,
): number {
  const own = isSet(maxTokens, chatDefaults.maxTokens) && model.supports.includes("max_tokens");
  const asked = (own ? maxTokens : planOf(model, settings, bounds, true).unset.maxTokens) as number;
  return Math.min(asked, capOf(model, settings));
}

/** How many steps a model is asked for, where the request fits it. */
export function stepsOf(
  { numInferenceSteps }: TextToImageRequest,
  model: Model,
  settings: ModelSettings | undefined,
  bounds: Bounds,
): number {
  const own =
    isSet(numInferenceSteps, imageDefaults.numInferenceSteps) &&
    model.supports.includes("num_inference_steps");
  const asked = own
    ? numInferenceSteps
    : planOf(model, settings, bounds, false).unset.numInferenceSteps;
  return asked as number;
}

/** Whether guidance is so little that negative prompts are passed over. */
const isLittle = (guidance: unknown): boolean => (guidance as number) < 1;

/** Whether a request, or the model that it goes to by default, has so little guidance. */
export function ignoresNegatives(
  { guidanceScale }: TextToImageRequest,
  model: Model,
  settings: ModelSettings | undefined,
  bounds: Bounds,
): boolean {
  const own =
    isSet(guidanceScale, imageDefaults.guidanceScale) && model.supports.includes("guidance_scale");
  const asked = own ? guidanceScale : planOf(model, settings, bounds, false).unset.guidanceScale;
  return isLittle(guidanceScale) || isLittle(asked);
}

/** A value equal to its default counts as not set: real clients send every default. */
function isSet(value: unknown, fallback: unknown): boolean {
  if (value === undefined || value === "" || value === fallback) return false;
  return !(Array.isArray(value) && value.length === 0);
}

/** Whether a message asks for what any model does. */
function isIdle(value: unknown, { idle }: Parameter): boolean {
  if (idle.length === 0) return false;
  if (Array.isArray(value)) return value.every((one) => idle.includes(one));
  return idle.includes(typeof value === "string" ? value : (value as { type: string }).type);
}

function unsetValue(unset: unknown, value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? value : [];
  return typeof value === "string" ? (unset ?? "") : unset;
}

function refuseOrWarn(
  { name, changes }: Pick<Parameter, "name" | "changes">,
  policy: UnsupportedPolicy,
  warnings: Warnings,
): void {
  if (policy === "reject" || (policy === "default" && changes)) {
    throw unsupported(name);
  }
  warnings.add(notSupported(name));
}

/** A model that answers in forms of JSON may know no others. */
function fitTextForm(
  fitted: Values,
  model: Model,
  settings: ModelSettings | undefined,
  warnings: Warnings,
): void {
  const asked = fitted.responseFormat as LLMRequest["responseFormat"];
  const form = asked && textFormOf(asked);
  if (form === undefined || model.supports.includes(form)) return;
  const name = `response_format.${form}`;
  refuseOrWarn({ name, changes: true }, settings?.unsupported ?? "default", warnings);
  fitted.responseFormat = undefined;
}

function cutToCap(
  fitted: Values,
  model: Model,
  settings: ModelSettings | undefined,
  warnings: Warnings,
): void {
  const cap = capOf(model, settings);
  if ((fitted.maxTokens as number) <= cap) return;
  fitted.maxTokens = cap;
  warnings.add(`max_tokens: cut to ${cap}, the most for this model`);
}

/** Defaults are under the cap already: what is above it is the caller's own. */
function checkCap(fitted: Values, model: Model, settings: ModelSettings | undefined): void {
  const cap = capOf(model, settings);
  if ((fitted.maxTokens as number) <= cap) return;
  const message = `must be from 1 to ${cap} for this model`;
  // The operator's cap is the same at every target.
  const retry = settings?.maxTokens === undefined ? "elsewhere" : "never";
  throw invalidFields([{ field: "max_tokens", message }], retry);
}
