/** What models think before they answer: in pieces, joined, and kept back for callers who want none of it. */
import type { LLMChoice, LLMMessage, LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Call, Handle } from "./call.js";
import { messageOf } from "./chat-messages.js";
import { isJsonOf, isObject, type JsonObject, parseJson } from "./json.js";
import type { Output } from "./methods.js";

/** Thoughts as messages have them; members are absent where there is nothing. */
export type Reasoning = Pick<LLMMessage, "reasoningContent" | "reasoningDetails">;

/** Thoughts of a text, and of what the model server wants to see again, a JSON array as text. */
export const reasoningOf = (content: string, details = ""): Reasoning => ({
  ...(content !== "" && { reasoningContent: content }),
  ...(details !== "" && { reasoningDetails: details }),
});

/** A piece of a streamed completion that says what the model thinks. */
export const reasoningChoice = (reasoning: Reasoning): LLMChoice => ({
  $typeName: "lintel.v1.LLMChoice",
  index: 0,
  finishReason: "",
  delta: Object.assign(messageOf("assistant", ""), reasoning),
});

/** Collects the thoughts of a stream. */
export class Thoughts {
  #content = "";
  readonly #details: Record<string, unknown>[] = [];

  /** Takes a piece. */
  add({ reasoningContent = "", reasoningDetails = "" }: Reasoning): void {
    this.#content += reasoningContent;
    if (!isJsonOf(reasoningDetails, Array.isArray)) return;
    for (const detail of detailsIn(reasoningDetails)) this.#addDetail(detail);
  }

  /** All of them so far. */
  get all(): Reasoning {
    const details = this.#details.length > 0 ? JSON.stringify(this.#details) : "";
    return reasoningOf(this.#content, details);
  }

  /** Of one thought, which has one `index`, the texts are joined, and what is said last holds. */
  #addDetail(piece: JsonObject): void {
    const last = this.#details.at(-1);
    const goesOn =
      last !== undefined &&
      last.type === piece.type &&
      last.index === piece.index &&
      "index" in last;
    if (!goesOn) {
      this.#details.push({ ...piece });
      return;
    }
    for (const [name, value] of Object.entries(piece)) {
      if (value === null || value === undefined) continue;
      const before = last[name];
      const joins = inPieces.has(name) && typeof before === "string" && typeof value === "string";
      last[name] = joins ? before + value : value;
    }
  }
}

/** Members of a detail that come in pieces. */
const inPieces: ReadonlySet<string> = new Set(["text", "summary", "data"]);

/** The details in a text; none where it is no JSON array. */
export function detailsIn(text: string): JsonObject[] {
  const details = text === "" ? undefined : parseJson(text);
  return Array.isArray(details) ? details.filter(isObject) : [];
}

/** Whether a caller wants the answer without what was thought. */
export const hidesReasoning = (request: object): boolean =>
  "includeReasoning" in request && request.includeReasoning === false;

/**
 * Keeps back what a model thinks of which the caller sees nothing, until something comes that is
 * seen: as long as that may be another target's. It is still in the messages then, since it counts
 * as the rest of the answer does: who counts leaves it out.
 */
export const unseenThoughts = (handle: Handle): Handle =>
  async function* (call: Call) {
    let kept: LLMResponse | undefined;
    let seen = false;
    for await (const batch of handle(call)) {
      const messages = batch as readonly LLMResponse[];
      seen ||= messages.some(isSeen);
      if (!seen) {
        for (const message of messages) kept = together(kept, message);
        call.alive?.();
        continue;
      }
      yield (kept ? [kept, ...messages] : messages) as readonly Output<Call["method"]>[];
      kept = undefined;
    }
    if (kept) yield [kept as Output<Call["method"]>];
  };

function isSeen({ choices: [choice] }: LLMResponse): boolean {
  if (!choice) return false;
  const { delta, finishReason } = choice;
  return !delta || finishReason !== "" || delta.content !== "" || delta.toolCalls.length > 0;
}

/** Two messages that nobody sees as one: no thought of its details will be told, and of its text only the length. */
function together(before: LLMResponse | undefined, message: LLMResponse): LLMResponse {
  const thought = (it?: LLMResponse) => it?.choices[0]?.delta?.reasoningContent ?? "";
  return {
    ...message,
    usage: message.usage ?? before?.usage,
    usageEstimated: message.usageEstimated || (before?.usageEstimated ?? false),
    warnings: message.warnings.length > 0 ? message.warnings : (before?.warnings ?? []),
    choices: [reasoningChoice(reasoningOf(thought(before) + thought(message)))],
  };
}
