/** Backends that draw, for tests of the core. */
import { expect } from "vitest";
import { imageModel } from "../support/models.js";
import { paints, scripted } from "../support/scripted.js";

/** A backend that draws two steps. */
export const painter = (model = imageModel("image-1"), nsfw = false) =>
  scripted({ streamTextToImage: paints(2, { nsfw }) }, [model]);
/** An error, by its code and the field that it names. */
export const failure = (code: string, param?: string) =>
  expect.objectContaining({ code, ...(param && { param }) });

/** What is asked of each job that reaches a backend. */
export const jobs = (backend: ReturnType<typeof painter>) =>
  backend.asked.map((r) => {
    if (r.$typeName !== "lintel.v1.TextToImageRequest") throw new Error("not an image request");
    return [r.prompt, r.negativePrompt, Number(r.seed), r.numImagesPerPrompt];
  });
