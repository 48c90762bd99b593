/** What a request makes of the prompt, and how long it is. */
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError, unsupported } from "../../core/errors.js";
import { mustCall } from "../../core/tool-calls.js";
import { isHeld, thinksFirst } from "./constraint.js";
import type { LoadedModel } from "./model.js";
import type { Asked } from "./template.js";
import type { ToolForm } from "./tools/form.js";
import { toolsOf } from "./tools/rendering.js";

/**
 * The form in which the model may call tools; `undefined` where it may not.
 * @throws LintelError `unsupported_parameter` where it has to, and knows of none
 */
export function toolsFor({ tools }: LoadedModel, request: LLMRequest): ToolForm | undefined {
  if (request.tools.length === 0 || request.toolChoice?.type === "none") return undefined;
  if (tools || !mustCall(request)) return tools;
  throw unsupported("tool_choice");
}

/** What the template is told of the answer. @param tools absent: none may be called */
export function askedOf(
  loaded: LoadedModel,
  request: LLMRequest,
  tools: ToolForm | undefined,
): Asked {
  const held = isHeld(request, tools);
  const first = thinksFirst(loaded, request, tools);
  return {
    // Nothing is thought ahead of an answer that has a form, unless that is asked for.
    effort: held && !first ? "none" : request.reasoningEffort,
    tools: tools && toolsOf(request),
    mayCall: held && tools !== undefined,
    thinksFirst: first,
  };
}

/** Whether messages are so many that they can't fit, each with a token: to render them holds up all calls. */
export const isHopeless = ({ contextSize }: LoadedModel, { messages }: LLMRequest): boolean =>
  messages.length >= contextSize;

/**
 * How many tokens the prompt of a request has, also one that does not fit.
 * @throws LintelError as an answer would be refused, but for the length; `unimplemented` where that
 *   alone would take long
 */
export async function countTokens(
  loaded: LoadedModel,
  request: LLMRequest,
  signal: CallSignal,
): Promise<number> {
  if (isHopeless(loaded, request)) {
    throw new LintelError(
      "unimplemented",
      "messages are so many that their tokens are not counted",
    );
  }
  const asked = askedOf(loaded, request, toolsFor(loaded, request));
  return loaded.count(request.messages, asked, signal);
}
