/** What ComfyUI's history says of a prompt. */
import type { LintelError } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { nonsense } from "../http/failure.js";
import { string } from "../http/json.js";
import { executionFailure, interrupted } from "./failure.js";

/**
 * What the nodes of a prompt gave, by their names; `undefined` while it is not done.
 * @param entry of the prompt in the history
 * @throws LintelError as it failed
 */
export function outputsIn(entry: unknown): JsonObject | undefined {
  if (!isObject(entry)) return undefined;
  const status = isObject(entry.status) ? entry.status : {};
  if (status.status_str === "error") throw failureIn(status.messages);
  return isObject(entry.outputs) ? entry.outputs : {};
}

/** The failure that the history tells of. */
function failureIn(messages: unknown): LintelError {
  const list = Array.isArray(messages) ? messages.filter(Array.isArray) : [];
  const details = (name: string): unknown => list.find(([type]) => type === name)?.[1];
  const failed = details("execution_error");
  if (isObject(failed)) return executionFailure(failed);
  return details("execution_interrupted") ? interrupted() : nonsense("failed in its work");
}

/**
 * Where the picture is, as `/view` takes it: at the node that is meant, or the first that
 * saves one, or previews one. `undefined` if there is none.
 */
export function imageIn(
  outputs: JsonObject,
  node: string | undefined,
): Record<string, string> | undefined {
  const nodes = node === undefined ? Object.values(outputs) : [outputs[node]];
  const files = nodes.flatMap((output) =>
    isObject(output) && Array.isArray(output.images) ? output.images.filter(isObject) : [],
  );
  const file = files.find(({ type }) => type === "output") ?? files[0];
  if (!file || string(file.filename) === "") return undefined;
  const { filename, subfolder, type } = file;
  return {
    filename: string(filename),
    subfolder: string(subfolder),
    type: string(type) || "output",
  };
}
