/** The fields of requests that are a model's affair, and what it has where a request says nothing. */
import type { DescField } from "@bufbuild/protobuf";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { TextToImageRequestSchema } from "../../gen/lintel/v1/image_pb.js";
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import { impliedBy, isSide } from "./defaults.js";
import { cacheControl } from "./prompt-marks.js";
import { multipleOf } from "./rules.js";
import type { Bound, Bounds, ModelSettings } from "./settings.js";
import { textForms } from "./text-forms.js";

/** Values of fields, by the names of their properties. */
export type Values = Record<string, unknown>;

/** A field that a model may or may not support. */
export interface Parameter {
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
  /** Values of it, or types, that ask for nothing that a model without it would not do. */
  readonly idle: readonly string[];
}

/** Name of the field: what models support that draw in their answers. */
export const modalities = "modalities";

/** Name of the field: what models support that tell how likely the tokens of their answers were. */
export const logprobs = "logprobs";

const changing = new Set([
  "loras",
  "seed",
  "height",
  "width",
  "stop",
  "tool_choice",
  "response_format",
  modalities,
  logprobs,
]);
const idle: Readonly<Record<string, readonly string[]>> = {
  tool_choice: ["auto", "none"],
  response_format: ["text"],
  reasoning_effort: ["none"],
  modalities: ["text"],
  // OpenAI's default, which its clients send.
  verbosity: ["medium"],
  service_tier: ["default"],
};
/** Whose contract's default asks for nothing. */
const silent = new Set(["frequency_penalty", "presence_penalty", "repetition_penalty", "min_p"]);
/** Not a model's affair: what carries the request, and what the core does itself. */
const always = new Set([
  "messages",
  "model",
  "model_id",
  "prompt",
  "safety_check",
  "num_images_per_prompt",
  "include_data",
  "include_reasoning",
  "user",
  "prompt_cache_key",
]);

/** What a chat model may support besides the fields of requests: fields of their messages, tools and forms. */
export const messageParameters: readonly string[] = [
  ...["image_url", "file", "input_audio"],
  cacheControl,
  ...textForms,
];

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
      idle: idle[field.name] ?? [],
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

/** @param bounds the operator's, which defaults are moved into */
export function planOf(
  model: Model,
  settings: ModelSettings | undefined,
  bounds: Bounds,
  chat: boolean,
): Plan {
  const known = plans.get(model)?.get(settings ?? bounds);
  if (known) return known;
  const all = chat ? parameters.chat : parameters.image;
  const supported = new Set(model.supports);
  // Without tools there is none to choose.
  if (!supported.has("tools")) supported.delete("tool_choice");
  // And without its tokens an answer has none beside them.
  if (!supported.has(logprobs)) supported.delete("top_logprobs");
  const plan: Plan = {
    parameters: all.map((one) => ({ ...one, supported: supported.has(one.name) })),
    unset: Object.fromEntries(all.map((one) => [one.key, unsetOf(one, model, settings, bounds)])),
  };
  const ofModel = plans.get(model) ?? new WeakMap<object, Plan>();
  plans.set(model, ofModel.set(settings ?? bounds, plan));
  return plan;
}

function unsetOf(
  { name, fallback, multipleOf }: Parameter,
  model: Model,
  settings: ModelSettings | undefined,
  bounds: Bounds,
): unknown {
  if (name === "seed") return undefined;
  // Nobody asked a model for it that knows no such thing: a node would warn of it.
  if (name === "reasoning_effort") {
    return model.supports.includes(name) ? settings?.reasoningEffort : undefined;
  }
  // Nor for one of these, whose default says nothing to any model.
  if (silent.has(name) && !model.supports.includes(name)) return fallback;
  const bound = bounds[name];
  const own = settings?.defaults?.[name] ?? model.defaults[name] ?? fallback;
  // Less than 1 means all, which is no small number but the greatest.
  if (name === "top_k" && (own as number) < 1) return bound?.max ?? own;
  const moved = within(own, bound, multipleOf);
  return name === "max_tokens" ? Math.min(moved as number, capOf(model, settings)) : moved;
}

/** A default, or what comes next to it within the operator's bound. */
function within(value: unknown, bound: Bound | undefined, multipleOf = 0): unknown {
  if (typeof value !== "number" || !bound) return value;
  const { min = value, max = value } = bound;
  const beyond = multipleOf && (value > max ? max % multipleOf : -min % multipleOf);
  if (value > max) return max - beyond;
  return value < min ? min - beyond : value;
}

/** The operator's cap of a completion, else the backend's. */
export function capOf(model: Model, settings: ModelSettings | undefined): number {
  return settings?.maxTokens ?? (model.maxTokens || Number.POSITIVE_INFINITY);
}
