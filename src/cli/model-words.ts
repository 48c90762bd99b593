/** What tasks and states of models are called. */
import { State, Task } from "../../gen/lintel/v1/models_pb.js";

/** What a model does, in a word. */
export const taskWords: Readonly<Record<Task, string>> = {
  [Task.UNSPECIFIED]: "",
  [Task.CHAT]: "chat",
  [Task.TEXT_TO_IMAGE]: "image",
};

/** How a model is, in a word. */
export const stateWords: Readonly<Record<State, string>> = {
  [State.UNSPECIFIED]: "",
  [State.LOADING]: "loading",
  [State.READY]: "ready",
  [State.FAILED]: "failed",
  [State.IDLE]: "idle",
};
