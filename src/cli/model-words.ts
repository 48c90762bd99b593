/** What tasks and states of models are called. */
import { PromptBar, State, Task } from "../../gen/lintel/v1/models_pb.js";

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

/** What a `|` in its prompts means, in a word; nothing for chat. */
export const barWords: Readonly<Record<PromptBar, string>> = {
  [PromptBar.UNSPECIFIED]: "",
  [PromptBar.BATCH]: "batch",
  [PromptBar.LITERAL]: "literal",
  [PromptBar.ENCODERS]: "encoders",
};
