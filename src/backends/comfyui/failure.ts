/** What ComfyUI says that went wrong, in words that name the node and its input. */
import { invalidValue, LintelError } from "../../core/errors.js";
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { nonsense } from "../http/failure.js";
import { string } from "../http/json.js";
import type { InputMap } from "./schema.js";
import { fieldOf } from "./workflow.js";

/** Fields whose values are the caller's; the others are the operator's affair. */
const callers: ReadonlySet<string> = new Set([
  "prompt",
  "negative_prompt",
  "width",
  "height",
  "guidance_scale",
  "num_inference_steps",
  "seed",
  "loras",
]);

/**
 * The error for a workflow that was refused.
 * @param body the answer with status 400, or with 200 where only some outputs were;
 *   `undefined` is given back for one of another form, and where there is nothing wrong
 * @returns `invalid_value` for a value of the caller's, else `upstream_failed`
 */
export function refusalOf(body: string, map: InputMap): LintelError | undefined {
  const answer = parseJson(body);
  if (!isObject(answer)) return undefined;
  const problems = isObject(answer.node_errors) ? nodeProblems(answer.node_errors) : [];
  const all = problems.map(inWords).join("; ");
  const cause = new Error(
    [...problems.map(({ details }) => details), errorWords(answer)].join("\n"),
  );
  const own = problems.find(({ node, input }) => callers.has(fieldOf(map, node, input) ?? ""));
  if (own) return invalidValue(fieldOf(map, own.node, own.input) ?? "", lowered(own.message));
  const what = all || errorWords(answer);
  if (!what) return undefined;
  return nonsense(`refused the workflow: ${what}`.slice(0, 500), cause);
}

/** One thing that is wrong with one node. */
interface Problem {
  readonly node: string;
  readonly type: string;
  readonly input: string;
  readonly message: string;
  readonly details: string;
}

function nodeProblems(errors: JsonObject): Problem[] {
  return Object.entries(errors).flatMap(([node, entry]) => {
    if (!isObject(entry) || !Array.isArray(entry.errors)) return [];
    return entry.errors.filter(isObject).map((error) => {
      const extra = isObject(error.extra_info) ? error.extra_info : {};
      return {
        node,
        type: string(entry.class_type),
        input: string(extra.input_name),
        message: string(error.message),
        details: string(error.details),
      };
    });
  });
}

const inWords = ({ node, type, input, message }: Problem): string =>
  `node ${node} (${type})${input && `, ${input}`}: ${lowered(message)}`;

const lowered = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

function errorWords({ error }: JsonObject): string {
  if (typeof error === "string") return lowered(error);
  return isObject(error) ? lowered(string(error.message)) : "";
}

/** The error for a node that failed while it worked. What it said may hold paths: it is for the log. */
export function executionFailure(details: JsonObject): LintelError {
  const node = `node ${string(details.node_id)} (${string(details.node_type)})`;
  const said = `${string(details.exception_type)}: ${string(details.exception_message)}`;
  return nonsense(`failed in ${node}`, new Error(said.slice(0, 2000)));
}

/** The error for work that somebody else interrupted. */
export const interrupted = () => nonsense("was interrupted in its work");

/** The error for a prompt that is neither queued nor done: a server that was started again makes nothing of it. */
export const lost = () =>
  new LintelError("upstream_failed", "the model server does not know the request any more", {
    retry: "anywhere",
  });
