/** Images as JSON: the members that they have by every path. */
import type { Media } from "../../../gen/lintel/v1/image_pb.js";
import { toJsonString } from "../../core/json-string.js";

/** What is told of an image besides where it is. */
export function mediaText({ seed, nsfw, revisedPrompt }: Media): string {
  const revised =
    revisedPrompt === undefined ? "" : `,"revised_prompt":${toJsonString(revisedPrompt)}`;
  return `"seed":${seed},"nsfw":${nsfw}${revised}`;
}
