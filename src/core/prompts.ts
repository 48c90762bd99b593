/** How the `|` of a prompt is read, and which pictures a request asks for. */
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import { PromptBar } from "../../gen/lintel/v1/models_pb.js";
import { invalidFields, invalidValue } from "./errors.js";

/** One prompt with what it must not show. */
export interface Prompt {
  readonly prompt: string;
  readonly negativePrompt: string;
}

const parts = (text: string) =>
  text
    .split("|")
    .map((part) => part.trim())
    .filter((part) => part !== "");

/**
 * The prompts of a request, in order.
 * @param most the most prompts that are allowed
 * @throws LintelError `invalid_value` if all are blank or the negative prompts
 *   don't match, `invalid_fields` if there are too many
 */
export function promptsOf(request: TextToImageRequest, bar: PromptBar, most: number): Prompt[] {
  const text = request.prompt ?? "";
  const prompts = parts(text);
  if (prompts.length === 0) throw invalidValue("prompt", "must not be blank");
  const negativeText = (request.guidanceScale ?? 1) < 1 ? "" : request.negativePrompt;
  if (bar === PromptBar.LITERAL || bar === PromptBar.ENCODERS) {
    return [{ prompt: text, negativePrompt: negativeText }];
  }
  if (prompts.length > most) {
    throw invalidFields([
      { field: "prompt", message: `must have at most ${most} prompts separated by |` },
    ]);
  }
  const negatives = parts(negativeText);
  if (negatives.length > 1 && negatives.length !== prompts.length) {
    throw invalidValue(
      "negative_prompt",
      `must be one for all prompts or as many as prompts (${prompts.length}), separated by |`,
    );
  }
  return prompts.map((prompt, i) => ({
    prompt,
    negativePrompt: negatives[negatives.length > 1 ? i : 0] ?? "",
  }));
}
