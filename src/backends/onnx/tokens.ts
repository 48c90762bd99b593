/** Prompts to token ids, padded and cut as `tokenizer_config.json` says. */
import type { Tokenizer } from "@huggingface/tokenizers";
import type { EncoderFolder } from "./folder.js";
import { ModelProblem } from "./problem.js";
import type { Runtime } from "./runtime.js";

/** A prompt as the text encoder takes it. */
export interface Tokens {
  /** Exactly as many as the encoder takes. */
  readonly ids: readonly number[];
  /** Whether the prompt was longer. */
  readonly cut: boolean;
}

/** Turns a text into tokens. */
export type PromptTokenizer = (text: string) => Tokens;

/** No token has more characters on average than this; what is behind can't matter. */
const charactersPerToken = 256;

/**
 * Makes the tokenizer of a text encoder.
 * @throws ModelProblem if its files don't say enough
 */
export function promptTokenizer(runtime: Runtime, folder: EncoderFolder): PromptTokenizer {
  const { tokenizerConfig: config } = folder;
  const tokenizer = open(runtime, folder);
  const length = lengthOf(folder);
  const pad =
    idOf(tokenizer, config.pad_token) ??
    folder.config.pad_token_id ??
    idOf(tokenizer, config.eos_token) ??
    0;
  return (text) => {
    // Splitting into tokens can take quadratic time: don't let a huge prompt hold the model up.
    const head = text.slice(0, length * charactersPerToken);
    const whole = tokenizer.encode(head).ids;
    const cut = whole.length > length || head.length < text.length;
    const ids =
      whole.length > length
        ? shorten(tokenizer, head, whole, length, config.truncation_side)
        : whole;
    const padding = Array.from({ length: length - ids.length }, () => pad);
    return {
      ids: config.padding_side === "left" ? [...padding, ...ids] : [...ids, ...padding],
      cut,
    };
  };
}

/** Cuts the text's own tokens; those that mark its begin and end stay. */
function shorten(
  tokenizer: Tokenizer,
  text: string,
  whole: readonly number[],
  length: number,
  side: "left" | "right",
): number[] {
  const own: number[] = tokenizer.encode(text, { add_special_tokens: false }).ids;
  const marks = whole.length - own.length;
  let before = 0;
  while (before < marks && own.some((id, i) => whole[before + i] !== id)) before++;
  const room = Math.max(length - marks, 0);
  const kept = side === "left" ? own.slice(own.length - room) : own.slice(0, room);
  return [...whole.slice(0, before), ...kept, ...whole.slice(before + own.length)];
}

function open(runtime: Runtime, folder: EncoderFolder): Tokenizer {
  try {
    const tokenizer = new runtime.Tokenizer(folder.tokenizer, folder.tokenizerConfig);
    tokenizer.encode("a");
    return tokenizer;
  } catch (error) {
    throw new ModelProblem(
      `${folder.tokenizerName}/tokenizer.json: is of a kind that is not supported`,
      { cause: error },
    );
  }
}

function lengthOf({ tokenizerConfig, tokenizerName, config }: EncoderFolder): number {
  const said = tokenizerConfig.model_max_length ?? Number.POSITIVE_INFINITY;
  const length = Math.min(said, config.max_position_embeddings ?? Number.POSITIVE_INFINITY);
  if (length <= 100_000) return Math.floor(length);
  throw new ModelProblem(`${tokenizerName}/tokenizer_config.json: model_max_length: is needed`);
}

function idOf(tokenizer: Tokenizer, token: string | null | undefined): number | undefined {
  return token ? tokenizer.token_to_id(token) : undefined;
}
