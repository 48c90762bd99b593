/** Models as backends declare them, for tests. */
import { type Model, PromptBar, Task } from "../../gen/lintel/v1/models_pb.js";
import { modelOf } from "../../src/core/model.js";

const created = 1_700_000_000;

/** A chat model that supports everything, but for what is said otherwise. */
export function chatModel(id: string, different: Partial<Model> = {}): Model {
  return modelOf(id, Task.CHAT, {
    created,
    supports: [
      ...["temperature", "max_tokens", "top_p", "top_k", "seed", "stop"],
      ...["tools", "tool_choice", "parallel_tool_calls", "response_format"],
      ...["image_url", "file", "input_audio"],
      ...["reasoning_effort", "modalities", "image_config"],
      ...["frequency_penalty", "presence_penalty", "repetition_penalty", "min_p"],
      ...["logprobs", "top_logprobs", "verbosity", "service_tier", "logit_bias"],
      ...["choice", "regex", "grammar"],
    ],
    ...different,
  });
}

/** An image model that supports everything, but for what is said otherwise. */
export function imageModel(id: string, different: Partial<Model> = {}): Model {
  return modelOf(id, Task.TEXT_TO_IMAGE, {
    created,
    loras: ["style"],
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
  });
}
