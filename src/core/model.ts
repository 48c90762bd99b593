/** How backends describe their models. */
import { type Model, PromptBar, State, type Task } from "../../gen/lintel/v1/models_pb.js";

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
