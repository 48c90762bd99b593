/** How models are described: by their backends, and as the operator has them. */
import { type Model, PromptBar, State, type Task } from "../../gen/lintel/v1/models_pb.js";
import { barOf } from "./prompts.js";
import type { ModelSettings } from "./settings.js";

/** Unix seconds of this process's begin: nothing was served before. */
const begun = Math.floor(performance.timeOrigin / 1000);

/** A model that answers and supports nothing in particular, but for what is said otherwise. */
export function modelOf(id: string, task: Task, known: Partial<Model> = {}): Model {
  return {
    $typeName: "lintel.v1.Model",
    id,
    task,
    state: State.READY,
    stateDetail: "",
    supports: [],
    maxTokens: 0,
    promptBar: PromptBar.UNSPECIFIED,
    isDefault: false,
    defaults: {},
    loras: [],
    created: begun,
    source: "",
    sizeBytes: 0n,
    ...known,
  };
}

/** A model as calls meet it: with what the operator configured for it. */
export const configured = (model: Model, settings: ModelSettings | undefined): Model => ({
  ...model,
  maxTokens: settings?.maxTokens ?? model.maxTokens,
  promptBar: barOf(settings?.prompt) ?? model.promptBar,
  defaults: { ...model.defaults, ...settings?.defaults },
});
