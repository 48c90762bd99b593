/** What vendors send, and their providers leave out or don't know. */
import type { ContentPart } from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { firstChoice, readStop } from "../completions/completion.js";
import { readImages } from "../completions/images.js";
import type { LeftOut } from "../completions/left-out.js";
import { string } from "../http/json.js";

/** What a chunk or a whole answer says in `refusal`, which stands in place of content; some providers tell it as text. */
export const refusalOf = (raw: unknown): string => string(saidIn(raw).refusal);

/** What a chunk or a whole answer has in `reasoning_details`, as JSON; empty where that is nothing. */
export function detailsOf(raw: unknown): string {
  const { reasoning_details: details } = saidIn(raw);
  const told = Array.isArray(details) ? details.filter(isObject) : [];
  return told.length > 0 ? JSON.stringify(told) : "";
}

/** Which text of `stop` ended an answer, in Anthropic's form and in OpenAI's; `undefined` where that is not told. */
export function stopOf(raw: unknown): string | undefined {
  if (!isObject(raw)) return undefined;
  const { stop_sequence: stop } = isObject(raw.delta) ? raw.delta : raw;
  return string(stop) || readStop(firstChoice(raw) ?? {});
}

/**
 * Pictures of a chunk or a whole answer in OpenAI's form: its providers pass over them.
 * @param left gets what it has besides
 */
export function imagesOf(raw: unknown, left: LeftOut): ContentPart[] {
  const said = saidIn(raw);
  left.ofMessage(said);
  return readImages(said, left);
}

/** Which tier of service an answer or an event says that it has, in the forms of OpenAI, Gemini and Bedrock; `undefined`: it says none. */
export function tierIn(raw: unknown): string | undefined {
  if (!isObject(raw)) return undefined;
  const { response, usageMetadata: counts, metadata } = raw;
  const ofGemini = isObject(counts) ? string(counts.serviceTier) : "";
  // As protobuf writes it, or without the enum's name.
  if (ofGemini !== "") return ofGemini.toLowerCase().replace(/^service_tier_/, "");
  const { serviceTier: ofBedrock } = isObject(metadata) ? metadata : raw;
  if (isObject(ofBedrock)) return string(ofBedrock.type) || undefined;
  return string(isObject(response) ? response.service_tier : raw.service_tier) || undefined;
}

/** What an answer or an event says of all of the answer. */
export interface OfAnswer {
  /** Cohere's id, of whole answers. */
  readonly id?: string;
  /** Gemini's name. */
  readonly modelId?: string;
  /** Cohere's count of the prompt's tokens that were in a cache. */
  readonly cached?: number;
  /** Why xAI's whole answer is no more than a part. */
  readonly incomplete?: string;
}

/** The same, as far as it is there; `undefined`: nothing is. */
export function toldOfAnswer(raw: unknown): OfAnswer | undefined {
  if (!isObject(raw)) return undefined;
  const { modelVersion, incomplete_details: details } = raw;
  if (typeof modelVersion === "string") return { modelId: modelVersion };
  if (isObject(details)) return { incomplete: string(details.reason) };
  const { usage } = isObject(raw.delta) ? raw.delta : raw;
  // OpenAI's form has its counts elsewhere.
  if (!isObject(usage) || !isObject(usage.tokens)) return undefined;
  const { cached_tokens: cached } = usage;
  return {
    ...(typeof cached === "number" && { cached }),
    ...(typeof raw.id === "string" && { id: raw.id }),
  };
}

function saidIn(raw: unknown): JsonObject {
  const choice = isObject(raw) ? firstChoice(raw) : undefined;
  const said = choice?.delta ?? choice?.message;
  return isObject(said) ? said : {};
}
