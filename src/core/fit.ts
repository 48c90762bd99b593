/**
 * Makes a request fit one model: what the model does not support is dropped or
 * refused, and every default is filled in.
 */
import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { TextToImageRequestSchema } from "../../gen/lintel/v1/image_pb.js";
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import { chatDefaults, imageDefaults } from "./defaults.js";
import { invalidFields, LintelError } from "./errors.js";
import type { ModelSettings, UnsupportedPolicy } from "./settings.js";

type Values = Record<string, unknown>;

/** A field that a model may or may not support. */
interface Parameter {
  /** Name in the contract. */
  readonly name: string;
  /** Name of the property in the message. */
  readonly key: string;
  /** The contract's default; `undefined` where not set means just that. */
  readonly fallback: unknown;
  /** Whether it changes what the caller gets; else it only tunes. */
  readonly changes: boolean;
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

function parametersOf(fields: readonly DescField[], defaults: Values): Parameter[] {
  return fields
    .filter((field) => !always.has(field.name))
    .map((field) => ({
      name: field.name,
      key: field.localName,
      fallback: defaults[field.localName] ?? implied(field),
      // A chat's seed is a wish everywhere; a picture's seed is the picture.
      changes:
        changing.has(field.name) && !(field.name === "seed" && field.parent === LLMRequestSchema),
    }));
}

/** What a field without a default of the contract has when it is not set. */
function implied(field: DescField): unknown {
  if (field.name === "seed") return -1n;
  return field.scalar === ScalarType.BOOL ? false : undefined;
}

const parameters = {
  chat: parametersOf(LLMRequestSchema.fields, chatDefaults),
  image: parametersOf(TextToImageRequestSchema.fields, imageDefaults),
};

/** A request of either operation. */
type Request = { readonly $typeName: string };

/**
 * The request as a model can take it.
 * @param warnings gets a line for everything dropped
 * @throws LintelError `unsupported_parameter`, or `invalid_fields` where
 *   `max_tokens` is above the model's cap
 */
export function fitRequest<R extends Request>(
  request: R,
  model: Model,
  settings: ModelSettings | undefined,
  warnings: string[],
): R {
  const chat = request.$typeName === LLMRequestSchema.typeName;
  const fitted: Values = { ...request };
  const supported = new Set(model.supports);
  for (const parameter of chat ? parameters.chat : parameters.image) {
    const { name, key, fallback } = parameter;
    if (!isSet(fitted[key], fallback)) {
      fitted[key] = unsetValue(parameter, model, settings, fitted[key]);
    } else if (!supported.has(name)) {
      refuseOrWarn(parameter, settings?.unsupported ?? "default", warnings);
      fitted[key] = unsetValue(parameter, model, settings, fitted[key]);
    }
  }
  if (chat) capTokens(fitted, settings?.maxTokens ?? model.maxTokens);
  return fitted as R;
}

/** A value equal to its default counts as not set: real clients send every default. */
function isSet(value: unknown, fallback: unknown): boolean {
  if (value === undefined || value === "" || value === fallback) return false;
  return !(Array.isArray(value) && value.length === 0);
}

function unsetValue(
  { name, fallback }: Parameter,
  model: Model,
  settings: ModelSettings | undefined,
  value: unknown,
): unknown {
  if (Array.isArray(value)) return [];
  if (typeof value === "string") return "";
  if (name === "seed") return undefined;
  return settings?.defaults?.[name] ?? model.defaults[name] ?? fallback;
}

function refuseOrWarn(parameter: Parameter, policy: UnsupportedPolicy, warnings: string[]): void {
  const { name, changes } = parameter;
  if (policy === "reject" || (policy === "default" && changes)) {
    throw new LintelError("unsupported_parameter", `${name}: this model does not support it`, {
      param: name,
    });
  }
  warn(warnings, `${name}: not supported by this model, ignored`);
}

/** Adds a warning once. */
export function warn(warnings: string[], text: string): void {
  if (!warnings.includes(text)) warnings.push(text);
}

function capTokens(fitted: Values, cap: number): void {
  if (cap <= 0 || (fitted.maxTokens as number) <= cap) return;
  if (fitted.maxTokens !== chatDefaults.maxTokens) {
    throw invalidFields([
      { field: "max_tokens", message: `must be from 1 to ${cap} for this model` },
    ]);
  }
  fitted.maxTokens = cap;
}
