/** How likely tokens were, as vendors tell it in what they send: providers tell less of it, or nothing. */
import type { LLMRequest, TokenLogprob } from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { logprobs as logprobsField } from "../../core/parameters.js";
import { firstChoice, readText } from "../completions/completion.js";
import { readLogprobs } from "../completions/logprobs.js";

/** How a package's provider is told to ask for them. */
export interface TokenOptions {
  /** Options, or fields of the body; @param beside how many of the likeliest tokens are told at each place */
  readonly write: (beside: number) => JsonObject;
  /** Whether its provider passes on what stands under its own name, which operators choose. Absent: under its keys */
  readonly passesOn?: true;
}

/** OpenAI's provider. It has no number below 1, and without one asks for as many as there are. */
export const openaiTokens: TokenOptions = {
  write: (beside) => ({ logprobs: Math.max(beside, 1) }),
};

/** DeepSeek's and Moonshot's. @param most others that their vendor tells of */
export const namedTokens = (most = Number.POSITIVE_INFINITY): TokenOptions => ({
  write: (beside) =>
    beside > 0 ? { logprobs: true, topLogprobs: Math.min(beside, most) } : { logprobs: true },
});

/** What is built on the provider for any server of OpenAI's form. */
export const compatibleTokens: TokenOptions = {
  write: (beside) => (beside > 0 ? { logprobs: true, top_logprobs: beside } : { logprobs: true }),
  passesOn: true,
};

/** Together's field is the number. */
export const togetherTokens: TokenOptions = { write: openaiTokens.write, passesOn: true };

/** What asks for tokens, where a request does and the vendor has not refused: under the keys of its provider, or passed on. */
export function tokenOptions(
  { logprobs, topLogprobs = 0 }: LLMRequest,
  known: TokenOptions | undefined,
  refused: ReadonlySet<string>,
): { readonly ofKeys?: JsonObject; readonly passedOn?: JsonObject } {
  if (!logprobs || !known || refused.has(logprobsField)) return {};
  const options = known.write(refused.has("top_logprobs") ? 0 : topLogprobs);
  return known.passesOn ? { passedOn: options } : { ofKeys: options };
}

/** The tokens of a chunk or of a whole answer, of chat completions and of OpenAI's responses. */
export function tokensIn(raw: unknown): TokenLogprob[] {
  if (!isObject(raw)) return [];
  // What is done has all of them again.
  if (raw.type === "response.output_text.delta") return readLogprobs(raw);
  if (Array.isArray(raw.output)) return raw.output.flatMap(partsIn).flatMap(readPart);
  const choice = firstChoice(raw);
  if (!choice) return [];
  return readLogprobs(choice, isObject(choice.delta) ? readText(choice.delta) : "");
}

const partsIn = (item: unknown): readonly unknown[] =>
  isObject(item) && Array.isArray(item.content) ? item.content : [];

const readPart = (part: unknown): TokenLogprob[] => (isObject(part) ? readLogprobs(part) : []);
