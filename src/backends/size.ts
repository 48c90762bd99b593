/** Sizes of images: whether somebody asked for one, and what to say where a server makes no such. */
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import type { Call } from "../core/call.js";
import { imageDefaults } from "../core/defaults.js";
import { LintelError } from "../core/errors.js";
import { namesField } from "./completions/refusals/refusal.js";

/**
 * Whether somebody asked for a width or a height: it is another than requests without one get.
 * @param usual what those get, in pixels. Default: the contract's
 */
export function choosesSide(
  request: TextToImageRequest,
  side: "width" | "height",
  usual: number = imageDefaults[side],
): boolean {
  return request[side] !== undefined && request[side] !== usual;
}

/** Whether somebody asked for the size, as `choosesSide`. */
export const choosesSize = (request: TextToImageRequest, usual?: number): boolean =>
  choosesSide(request, "width", usual) || choosesSide(request, "height", usual);

/** Whether the size that somebody asked for, as `choosesSize`, is to be had or nothing. */
export const insistsOnSize = (
  { request, modelSettings }: Pick<Call<"textToImage">, "request" | "modelSettings">,
  usual?: number,
): boolean => choosesSize(request, usual) && modelSettings?.unsupported !== "ignore";

/**
 * The error for a size that a model does not make.
 * @param width whether the width is at fault; else it is the height
 */
export function refusedSize(why: string, width: boolean): LintelError {
  const param = width ? "width" : "height";
  return new LintelError("unsupported_parameter", `${param}: ${why} (width x height)`, { param });
}

/** The error that a server answered, which names the width, or the height alone, where it was about the size. */
export function aboutSize(failure: LintelError, body: string): LintelError {
  if (failure.code !== "invalid_value" || !namesField(body, "size")) return failure;
  return refusedSize(failure.message, namesField(body, "width") || !namesField(body, "height"));
}
