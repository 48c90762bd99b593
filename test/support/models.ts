/** Models as backends declare them, for tests. */
import { type Model, PromptBar, State, Task } from "../../gen/lintel/v1/models_pb.js";

const base = {
  $typeName: "lintel.v1.Model",
  state: State.READY,
  stateDetail: "",
  maxTokens: 0,
  isDefault: false,
  defaults: {},
  loras: [],
  created: 1_700_000_000,
} as const;

/** A chat model that supports everything, but for what is said otherwise. */
export function chatModel(id: string, different: Partial<Model> = {}): Model {
  return {
    ...base,
    loras: [],
    id,
    task: Task.CHAT,
    promptBar: PromptBar.UNSPECIFIED,
    supports: ["temperature", "max_tokens", "top_p", "top_k", "seed", "stop"],
    ...different,
  };
}

/** An image model that supports everything, but for what is said otherwise. */
export function imageModel(id: string, different: Partial<Model> = {}): Model {
  return {
    ...base,
    loras: ["style"],
    id,
    task: Task.TEXT_TO_IMAGE,
    promptBar: PromptBar.BATCH,
    supports: [
      "height",
      "width",
      "guidance_scale",
      "negative_prompt",
      "seed",
      "num_inference_steps",
      "num_images_per_prompt",
      "loras",
      "include_previews",
    ],
    ...different,
  };
}
