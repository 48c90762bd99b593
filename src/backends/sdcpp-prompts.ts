/** How long the prompts are that stable-diffusion.cpp, and what is built of it, lives through. */
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import { invalidValue } from "../core/errors.js";

/** Its patterns take stack for each byte of a text: above some 30,000 its process ends. */
const longest = 16 * 1024;

/**
 * Checks the length of the prompts.
 * @param asSent the negative prompt as it is written there
 * @throws LintelError `invalid_value` that names the field
 */
export function checkPromptLengths(
  { prompt = "", negativePrompt }: Pick<TextToImageRequest, "prompt" | "negativePrompt">,
  asSent: (text: string) => string = (text) => text,
): void {
  const texts = { prompt, negative_prompt: asSent(negativePrompt) };
  for (const [field, text] of Object.entries(texts)) {
    if (Buffer.byteLength(text) <= longest) continue;
    throw invalidValue(field, `must have at most ${longest} bytes for this model`);
  }
}
