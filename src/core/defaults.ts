/** The contract's defaults, and what counts as "not set". */
import { type DescField, ScalarType } from "@bufbuild/protobuf";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";

/** Defaults of a chat completion. */
export const chatDefaults = {
  temperature: 0.7,
  maxTokens: 256,
  topP: 1,
  topK: -1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  repetitionPenalty: 1,
  minP: 0,
  logprobs: false,
  topLogprobs: 0,
} as const satisfies Partial<LLMRequest>;

/** Defaults of an image generation; sizes in pixels. */
export const imageDefaults = {
  height: 576,
  width: 1024,
  guidanceScale: 7.5,
  safetyCheck: true,
  numInferenceSteps: 50,
  numImagesPerPrompt: 1,
} as const satisfies Partial<TextToImageRequest>;

/** A `logit_bias` of no token: the one that there is, so that those of requests without are told by being it. */
export const noBias: LLMRequest["logitBias"] = Object.freeze({});

/** Whether a `logit_bias` changes anything. */
export function isBiased(bias: LLMRequest["logitBias"]): boolean {
  if (bias === noBias) return false;
  for (const id in bias) if (bias[id] !== 0) return true;
  return false;
}

/** Sides of an image, pixels; absent: not said. */
type Size = Pick<TextToImageRequest, "width" | "height">;

/**
 * Whether a request asks for a size. A size is one thing: a side at its default is asked for
 * where the other is not at its own, as in 1024x1024.
 */
export function asksForSize({ width, height }: Size): boolean {
  const { width: usual, height: tall } = imageDefaults;
  return (width ?? usual) !== usual || (height ?? tall) !== tall;
}

/** Whether a field is a side of the image. */
export const isSide = ({ name }: DescField): boolean => name === "width" || name === "height";

/** Whether a field is a side of a size that its message asks for: then it is set, also at its default. */
export const isOfAskedSize = (field: DescField, message: object): boolean =>
  isSide(field) && asksForSize(message as Size);

/** The default of a field of either request; `undefined`: it has none. */
export function defaultOf({ parent, localName }: DescField): unknown {
  const defaults: Readonly<Record<string, unknown>> =
    parent.typeName === "lintel.v1.LLMRequest" ? chatDefaults : imageDefaults;
  return defaults[localName];
}

/** What a field has when it is not set: its default, or what means just that; `undefined`: nothing. */
export function impliedBy(field: DescField): unknown {
  const fallback = defaultOf(field);
  if (fallback !== undefined) return fallback;
  if (field.name === "seed") return -1n;
  if (field.fieldKind === "map") return noBias;
  return field.scalar === ScalarType.BOOL && !field.proto.proto3Optional ? false : undefined;
}
