/** What a node serves: as it says itself, and as it is configured. */
import { type Model, State, Task } from "../../../gen/lintel/v1/models_pb.js";
import { methods } from "../../core/methods.js";
import { modelOf } from "../../core/model.js";

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
]);

const every = (method: "chat" | "textToImage") =>
  methods[method].input.fields.map(({ name }) => name).filter((name) => !notTheModels.has(name));

/** The model that an entry of the configuration describes. */
export function fromConfiguration(entry: ConfiguredModel, state: State): Model {
  const chat = entry.task === "chat";
  return modelOf(entry.id, chat ? Task.CHAT : Task.TEXT_TO_IMAGE, {
    state,
    supports: [...(entry.supports ?? every(chat ? "chat" : "textToImage"))],
    maxTokens: entry.max_tokens ?? 0,
  });
}

/** The same model while the node does not answer. */
export const unreachable = (model: Model): Model => ({
  ...model,
  state: State.FAILED,
  stateDetail: "the node can't be reached",
});

/** What the configuration lists, with what the node says of it; without a list all of the node's. */
export function merge(configured: readonly ConfiguredModel[] | undefined, said: readonly Model[]) {
  const own = said.map((model) => ({ ...model, isDefault: false }));
  if (!configured) return own;
  return configured.map(
    (entry) => own.find(({ id }) => id === entry.id) ?? fromConfiguration(entry, State.READY),
  );
}
