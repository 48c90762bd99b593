/** Models of servers of the contract, as the configuration lists them. */
import { type Model, type State, Task } from "../../gen/lintel/v1/models_pb.js";
import { methods } from "../core/methods.js";
import { modalitiesOf, modelOf } from "../core/model.js";
import { messageParameters } from "../core/parameters.js";
import { cacheControl } from "../core/prompt-marks.js";

/** A model as it is configured. */
export interface ConfiguredModel {
  readonly id: string;
  readonly task: "chat" | "image";
  /** Request fields that it honours; absent: all. */
  readonly supports?: readonly string[] | undefined;
  readonly max_tokens?: number | undefined;
}

/** Fields of requests that are not up to the model. */
const notTheModels = new Set([
  "model",
  "messages",
  "model_id",
  "prompt",
  "include_data",
  "include_previews",
  "user",
]);

const every = (method: "chat" | "textToImage") => [
  ...methods[method].input.fields.map(({ name }) => name).filter((name) => !notTheModels.has(name)),
  ...(method === "chat" ? messageParameters.filter((name) => name !== cacheControl) : []),
];

/** The model that an entry of the configuration describes. */
export function fromConfiguration(entry: ConfiguredModel, state: State): Model {
  const chat = entry.task === "chat";
  return modelOf(entry.id, chat ? Task.CHAT : Task.TEXT_TO_IMAGE, {
    state,
    supports: [...(entry.supports ?? every(chat ? "chat" : "textToImage"))],
    maxTokens: entry.max_tokens ?? 0,
    // Without the operator's word it may honour less than all.
    ...(chat && entry.supports && modalitiesOf(entry.supports)),
  });
}
