/** Images that a vendor made, or would not make, and keeps to itself, as answers of status 200 tell of it. */
import type { LintelError } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { failureIn } from "./failure.js";
import { string } from "./json.js";

/** States of jobs at Black Forest Labs, and at those that sell its models. */
const moderated = /^(?:request|content) moderated$/i;

/**
 * The error that an answer tells of in the state of a job, or in one of its images; `undefined`: in neither.
 * Black Forest Labs, Fireworks and Bedrock have `status`, xAI `respect_moderation` of an image, Ark its `error`.
 */
export function withheldIn({ status, details, data }: JsonObject): LintelError | undefined {
  if (moderated.test(string(status))) {
    const reasons = isObject(details) ? details["Moderation Reasons"] : undefined;
    return blocked([status, ...(Array.isArray(reasons) ? reasons : [])].map(string).join(", "));
  }
  for (const entry of Array.isArray(data) ? data.filter(isObject) : []) {
    const failure = failureIn(entry);
    if (failure) return failure;
    if (entry.respect_moderation === false) return blocked("the image was moderated");
  }
  return undefined;
}

const blocked = (message: string): LintelError | undefined =>
  failureIn({ error: { code: "content_filter", message } });
