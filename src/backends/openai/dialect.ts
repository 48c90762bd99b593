/** What may differ between OpenAI-compatible servers. */
import { files } from "../../core/documents.js";
import { logprobs as logprobsField, modalities } from "../../core/parameters.js";
import { cacheControl } from "../../core/prompt-marks.js";
import { imageConfig } from "../completions/images.js";
import { samplingFields } from "../completions/refusals/sampling.js";
import type { ImageServer } from "./images/profile.js";
import type { TextForms } from "./text-forms.js";

/** Request fields of the contract that only some servers honour. */
export interface Dialect {
  /** What a limit on the answer's length is called. */
  readonly maxTokens: "max_tokens" | "max_completion_tokens";
  /** Whether `top_k` is honoured. OpenAI refuses it; Ollama's /v1 drops it silently. */
  readonly topK: boolean;
  /** Names of fields of how tokens are chosen that are refused, or dropped silently. */
  readonly lacks: ReadonlySet<string>;
  /** What `repetition_penalty` is called. */
  readonly penalty: "repetition_penalty" | "repeat_penalty" | "presence_penalty";
  /** Whether its list of models says which of these fields each knows. */
  readonly listsFields?: boolean;
  /** Whether `top_p` may be 1, which changes nothing but a default of the server's own. */
  readonly wholeTopP: boolean;
  /** Whether the role `developer` is known; chat templates mostly don't know it. */
  readonly developer: boolean;
  /** Greatest seed that is one: a greater stands for a random one. */
  readonly lastSeed: number;
  /** How images are asked for. */
  readonly images: ImageServer;
  /** The tag of models whose names have none. */
  readonly tag?: string;
  /** What its list of models has to be asked for, to have those that draw, too. */
  readonly listed?: string;
  /** Whether earlier thoughts are of no use to it, and fields for them unknown. */
  readonly forgetsThoughts?: boolean;
  /** What it calls the end user's id. OpenAI has put the first in the place of the second. */
  readonly user: "safety_identifier" | "user";
  /** Whether `prompt_cache_key` is a field of it, by which it finds a prompt's begin again. */
  readonly keyField?: boolean;
  /** The header that it takes the same in. */
  readonly keyHeader?: string;
  /** What is said of an effort besides `reasoning_effort`, where that alone does not switch thinking on or off. */
  readonly thinking?: (effort: string) => object;
  /** How it is asked for the tokens of a prompt; absent: it counts none. */
  readonly counts?: "input_tokens" | "tokenize";
  /** Whether files in messages may be known; until a model refuses them they are then taken for known. */
  readonly files?: boolean;
  /** Whether it reads marks for a cache of prompts (`cache_control`), as the models behind it may. */
  readonly marks?: boolean;
  /** Whether models of it may draw in their answers, and be asked to (`modalities`). */
  readonly draws?: boolean;
  /**
   * How it is asked for logprobs: by the number of tokens that are told at each place, or not at all, since it drops
   * the field. Absent: as OpenAI is.
   */
  readonly logprobs?: "count" | "none";
  /** How it is asked for answers in forms that are no JSON; absent: it knows none. */
  readonly forms?: TextForms;
  /** What has to stand with a call of a tool that lost what the server gave with it. */
  readonly unsigned?: (model: string) => object | undefined;
}

/** Fields of those who want pictures in an answer. */
export const drawing: readonly string[] = [modalities, imageConfig];

/** The contract's fields that a dialect honours, by their names. */
export function supportedBy(dialect: Dialect): string[] {
  const supported = [
    ...["temperature", "max_tokens", "top_p", "top_k", "seed", "stop"],
    ...["tools", "tool_choice", "parallel_tool_calls", "response_format", "image_url"],
    ...["input_audio", "reasoning_effort"],
    ...samplingFields.filter((field) => !dialect.lacks.has(field)),
    ...(dialect.files ? [files] : []),
    ...(dialect.marks ? [cacheControl] : []),
    ...(dialect.draws ? drawing : []),
    ...(dialect.forms?.takes ?? []),
    ...(dialect.logprobs === "none" ? [] : [logprobsField, "top_logprobs"]),
  ];
  return dialect.topK ? supported : supported.filter((field) => field !== "top_k");
}
