/**
 * Makes a request fit one model: what the model does not support is dropped or
 * refused, and every default is filled in.
 */
import type { DescField } from "@bufbuild/protobuf";
import { type LLMRequest, LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { type TextToImageRequest, TextToImageRequestSchema } from "../../gen/lintel/v1/image_pb.js";
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import { asksForSize, chatDefaults, impliedBy, isSide } from "./defaults.js";
import { invalidFields, LintelError } from "./errors.js";
import { multipleOf } from "./rules.js";
import type { Bound, Bounds, ModelSettings, UnsupportedPolicy } from "./settings.js";
import type { Warnings } from "./warnings.js";

type Values = Record<string, unknown>;

/** A field that a model may or may not support. */
interface Parameter {
  /** Name in the contract. */
  readonly name: string;
  /** Name of the property in the message. */
  readonly key: string;
  /** The contract's default; `undefined` where not set means just that. */
  readonly fallback: unknown;
  /** Whether it is a side of the image, which counts as set with the other one. */
  readonly isSide: boolean;
  /** Whether it changes what the caller gets; else it only tunes. */
  readonly changes: boolean;
  /** What its values are multiples of; absent: of nothing. */
  readonly multipleOf: number | undefined;
}

const changing = new Set(["loras", "seed", "height", "width", "stop"]);
/** Not a model's affair: what carries the request, and what the core does itself. */
const always = new Set([
  "messages",
  "model",
  "model_id",
  "prompt",
  "safety_check",
  "num_images_per_prompt",
  "include_data",
]);

function parametersOf(fields: readonly DescField[]): Parameter[] {
  return fields
    .filter((field) => !always.has(field.name))
    .map((field) => ({
      name: field.name,
      key: field.localName,
      fallback: impliedBy(field),
      isSide: isSide(field),
      // A chat's seed is a wish everywhere; a picture's seed is the picture.
      changes:
        changing.has(field.name) && !(field.name === "seed" && field.parent === LLMRequestSchema),
      multipleOf: multipleOf(field),
    }));
}

const parameters = {
  chat: parametersOf(LLMRequestSchema.fields),
  image: parametersOf(TextToImageRequestSchema.fields),
};

/** What fitting needs to know of one model, looked up once. */
interface Plan {
  readonly parameters: readonly (Parameter & { readonly supported: boolean })[];
  /** Values of parameters that are not set. */
  readonly unset: Values;
}

/** Of models by their settings, or by the bounds where they have none; none of it outlives a reload. */
const plans = new WeakMap<Model, WeakMap<object, Plan>>();

function planOf(
  model: Model,
  settings: ModelSettings | undefined,
  bounds: Bounds,
  chat: boolean,
): Plan {
  const known = plans.get(model)?.get(settings ?? bounds);
  if (known) return known;
  const all = chat ? parameters.chat : parameters.image;
  const supported = new Set(model.supports);
  const plan: Plan = {
    parameters: all.map((one) => ({ ...one, supported: supported.has(one.name) })),
    unset: Object.fromEntries(
      all.map(({ name, key, fallback, multipleOf }) => {
        const own = settings?.defaults?.[name] ?? model.defaults[name] ?? fallback;
        if (name === "seed") return [key, undefined];
        // Less than 1 means all, which is no small number but the greatest.
        const all = name === "top_k" && (own as number) < 1;
        return [key, all ? (bounds[name]?.max ?? own) : within(own, bounds[name], multipleOf)];
      }),
    ),
  };
  const ofModel = plans.get(model) ?? new WeakMap<object, Plan>();
  plans.set(model, ofModel.set(settings ?? bounds, plan));
  return plan;
}

/** A default, or what comes next to it within the operator's bound. */
function within(value: unknown, bound: Bound | undefined, multipleOf = 0): unknown {
  if (typeof value !== "number" || !bound) return value;
  const { min = value, max = value } = bound;
  const beyond = multipleOf && (value > max ? max % multipleOf : -min % multipleOf);
  if (value > max) return max - beyond;
  return value < min ? min - beyond : value;
}

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
});

/**
 * The request as a model can take it, naming the model as its backend does.
 * @param bounds the operator's, which defaults are moved into
 * @param warnings gets a line for everything dropped
 * @throws LintelError `unsupported_parameter`, or `invalid_fields` where the
 *   caller's own `max_tokens` is above the model's cap; defaults are cut to it
 */
export function fitRequest<R extends Request>(
  request: R,
  model: Model,
  settings: ModelSettings | undefined,
  bounds: Bounds,
  warnings: Warnings,
): R {
  const chat = request.$typeName === "lintel.v1.LLMRequest";
  const { unset, parameters } = planOf(model, settings, bounds, chat);
  const fitted: Values = chat ? copyChat(request, model.id) : copyImage(request, model.id);
  const sized = !chat && asksForSize(request);
  for (const parameter of parameters) {
    const { key, fallback, isSide, supported } = parameter;
    const value = fitted[key];
    if (isSet(value, sized && isSide ? undefined : fallback)) {
      if (supported) continue;
      refuseOrWarn(parameter, settings?.unsupported ?? "default", warnings);
    }
    const instead = unsetValue(unset[key], value);
    if (value !== instead) fitted[key] = instead;
  }
  if (chat) capTokens(fitted, (request as LLMRequest).maxTokens, model, settings);
  // Also where that is the model's default, which differs from target to target.
  else if ((fitted.guidanceScale as number) < 1) fitted.negativePrompt = "";
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

/** The operator's cap of a completion, else the backend's. */
function capOf(model: Model, settings: ModelSettings | undefined): number {
  return settings?.maxTokens ?? (model.maxTokens || Number.POSITIVE_INFINITY);
}

/** A value equal to its default counts as not set: real clients send every default. */
function isSet(value: unknown, fallback: unknown): boolean {
  if (value === undefined || value === "" || value === fallback) return false;
  return !(Array.isArray(value) && value.length === 0);
}

function unsetValue(unset: unknown, value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? value : [];
  return typeof value === "string" ? "" : unset;
}

function refuseOrWarn(parameter: Parameter, policy: UnsupportedPolicy, warnings: Warnings): void {
  const { name, changes } = parameter;
  if (policy === "reject" || (policy === "default" && changes)) {
    throw new LintelError("unsupported_parameter", `${name}: this model does not support it`, {
      param: name,
    });
  }
  warnings.add(`${name}: not supported by this model, ignored`);
}

/** @param asked what the caller sent */
function capTokens(
  fitted: Values,
  asked: number | undefined,
  model: Model,
  settings: ModelSettings | undefined,
): void {
  const cap = capOf(model, settings);
  if ((fitted.maxTokens as number) <= cap) return;
  if (isSet(asked, chatDefaults.maxTokens) && asked === fitted.maxTokens) {
    const message = `must be from 1 to ${cap} for this model`;
    // The operator's cap is the same at every target.
    const retry = settings?.maxTokens === undefined ? "elsewhere" : "never";
    throw invalidFields([{ field: "max_tokens", message }], retry);
  }
  fitted.maxTokens = cap;
}
