/** What GGUF models honour of requests, and how they answer those that say nothing of it. */
import type { Model } from "../../../gen/lintel/v1/models_pb.js";
import { modalitiesOf } from "../../core/model.js";
import type { LlamaConfig } from "./schema.js";

const everyModels = [
  "temperature",
  "max_tokens",
  "top_p",
  "top_k",
  "seed",
  "stop",
  "response_format",
  "choice",
  "regex",
  "frequency_penalty",
  "presence_penalty",
  "repetition_penalty",
  "min_p",
  "logit_bias",
];

/** And one whose template tells it of tools. */
const ofTools = ["tools", "tool_choice", "parallel_tool_calls"];

/** And one whose template tells it how much to think. */
const ofThoughts = ["reasoning_effort"];

/** The request fields that a model honours. @param tools absent: its template tells it of none */
export const supportsOf = ({
  tools,
  hasEffort,
}: {
  readonly tools?: unknown;
  readonly hasEffort: boolean;
}): string[] => [...everyModels, ...(tools ? ofTools : []), ...(hasEffort ? ofThoughts : [])];

/** What prompts and answers of any of them have. */
export const modalities = modalitiesOf(everyModels);

/** How the operator wants tokens chosen, of requests that say nothing of it. */
export function defaultsOf(config: LlamaConfig): Model["defaults"] {
  const defaults = {
    min_p: config.min_p,
    repetition_penalty: config.repeat_penalty,
    presence_penalty: config.presence_penalty,
    frequency_penalty: config.frequency_penalty,
  };
  return Object.fromEntries(
    Object.entries(defaults).filter((entry): entry is [string, number] => entry[1] !== undefined),
  );
}
