/** What models think before they answer: in pieces, joined, and left out for callers who want none of it. */
import type { LLMChoice, LLMMessage, LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Call, Handle } from "./call.js";
import { messageOf, tokenUsage } from "./chat-messages.js";
import { estimateTokens } from "./estimate.js";
import { isObject, type JsonObject, parseJson } from "./json.js";
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

/**
 * Answers of which nothing is left that the model thought. What is left out was answered all the
 * same: where the model server counts no tokens, it is part of the estimate.
 */
export const withoutReasoning = (handle: Handle): Handle =>
  async function* (call: Call) {
    let bytes = 0;
    for await (const batch of handle(call)) {
      const left = (batch as readonly LLMResponse[]).map((message) => {
        const [choice] = message.choices;
        const said = choice?.delta ?? choice?.message;
        if (!choice || !said) return message;
        const { reasoningContent = "", reasoningDetails, ...rest } = said;
        bytes += Buffer.byteLength(said.content) + Buffer.byteLength(reasoningContent);
        const counted = choice.finishReason === "" || message.usage ? {} : estimated(bytes);
        const side = choice.delta ? { delta: rest } : { message: rest };
        return { ...message, ...counted, choices: [{ ...choice, ...side }] };
      });
      const told = left.filter(saysSomething);
      if (told.length > 0) yield told as readonly Output<Call["method"]>[];
      else call.alive?.();
    }
  };

/** Counts of an answer of so many bytes; those of its prompt are for others to estimate. */
const estimated = (bytes: number) => ({
  usage: tokenUsage(0, estimateTokens(bytes)),
  usageEstimated: true,
});

function saysSomething({ choices, usage, warnings }: LLMResponse): boolean {
  const [choice] = choices;
  if (!choice?.delta || usage || warnings.length > 0 || choice.finishReason !== "") return true;
  return choice.delta.content !== "" || choice.delta.toolCalls.length > 0;
}
