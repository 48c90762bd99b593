/** How the `|` of a prompt is read, and which pictures a request asks for. */
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import { PromptBar } from "../../gen/lintel/v1/models_pb.js";
import type { Call } from "./call.js";
import { invalidFields, invalidValue } from "./errors.js";
import type { Origin } from "./gateway.js";

/** What `|` in a prompt can be set to mean. */
const readings = ["batch", "literal", "encoders"] as const;

/** One of them. */
export type Reading = (typeof readings)[number];

/** The header by which a gateway tells its node what `|` in the call's prompts means. */
export const readingHeader = "x-lintel-prompt";

/** What a gateway says in that header; nothing if it is no word of these. */
export function readingIn({ header }: Origin): Reading | undefined {
  const said = header?.(readingHeader);
  return said === undefined ? undefined : readings.find((word) => word === said);
}

/** What was said of `|` in a call's prompts: by the gateway whose node this is, else by the operator. */
export const readingOf = ({ reading, modelSettings }: Pick<Call, "reading" | "modelSettings">) =>
  reading ?? modelSettings?.prompt;

/** The same as the list of models says it; nothing where nothing is set. */
export function barOf(setting: Reading | undefined): PromptBar | undefined {
  switch (setting) {
    case "batch":
      return PromptBar.BATCH;
    case "literal":
      return PromptBar.LITERAL;
    case "encoders":
      return PromptBar.ENCODERS;
    default:
      return undefined;
  }
}

/** One prompt with what it must not show. */
export interface Prompt {
  readonly prompt: string;
  readonly negativePrompt: string;
}

/**
 * What stands between the bars of a text, without blank parts. By hand: a regular
 * expression for a bar and the blanks around it takes the square of a run of blanks.
 */
export const promptParts = (text: string): string[] => withoutBlank(allParts(text));

/** The same with blank parts. */
const allParts = (text: string): string[] => text.split("|").map((part) => part.trim());

const withoutBlank = (parts: readonly string[]): string[] => parts.filter((part) => part !== "");

/**
 * The prompts of a request, in order.
 * @param most the most prompts that are allowed
 * @param heeded whether negative prompts count; else there are none
 * @throws LintelError `invalid_value` if all are blank or the negative prompts
 *   don't match, `invalid_fields` if there are too many
 */
export function promptsOf(
  request: TextToImageRequest,
  bar: PromptBar,
  most: number,
  heeded: boolean,
): Prompt[] {
  const text = request.prompt ?? "";
  const parts = bar === PromptBar.LITERAL ? [text.trim()] : allParts(text);
  const prompts = withoutBlank(parts);
  if (prompts.length === 0) throw invalidValue("prompt", "must not be blank");
  const negativeText = heeded ? request.negativePrompt : "";
  if (bar === PromptBar.LITERAL || bar === PromptBar.ENCODERS) {
    return [{ prompt: text, negativePrompt: negativeText }];
  }
  if (prompts.length > most) {
    throw invalidFields([
      { field: "prompt", message: `must have at most ${most} prompts separated by |` },
    ]);
  }
  const places = allParts(negativeText);
  // By their places, so that a blank one is of its own prompt and of no other.
  if (places.length > 1 && places.length === parts.length) {
    return parts.flatMap((prompt, i) =>
      prompt === "" ? [] : [{ prompt, negativePrompt: places[i] ?? "" }],
    );
  }
  const negatives = withoutBlank(places);
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
