/** A job's prompts, as the UNet takes them. */
import type { ModelFolder } from "./folder.js";
import type { PictureJob } from "./pipeline.js";
import { zerosLike } from "./text.js";
import { takesGuidance, type Wanted } from "./unet.js";
import type { Weights } from "./weights.js";

/**
 * Encodes a job's prompt, and its negative prompt where it is used.
 * @param weights with the job's LoRAs
 */
export async function encodePrompts(
  job: PictureJob,
  { encode, unet }: Weights,
  { zeroNegative }: ModelFolder,
): Promise<Wanted> {
  const prompt = await encode(textsOf(job.prompt, job), "prompt");
  const { guidanceScale, width, height, negativePrompt } = job;
  const wanted = { prompt, guidanceScale, width, height };
  // At a scale of 1 the guided prediction is the plain one, below 1 the contract has no guidance.
  if (guidanceScale <= 1 || takesGuidance(unet)) return wanted;
  const negative =
    negativePrompt.trim() === "" && zeroNegative
      ? zerosLike(prompt)
      : await encode(textsOf(negativePrompt, job), "negative_prompt");
  return { ...wanted, negative };
}

/** The texts for the encoders. */
function textsOf(text: string, { bar }: PictureJob): string[] {
  return bar ? text.split("|").map((part) => part.trim()) : [text];
}
