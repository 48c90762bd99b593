/** What models think before they answer: in pieces, and joined. */
import type { LLMChoice, LLMMessage } from "../../gen/lintel/v1/chat_pb.js";
import { messageOf } from "./chat-messages.js";
import { isJsonOf, isObject, type JsonObject, parseJson } from "./json.js";

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
    // Most pieces have none, and JSON.parse takes ten times as long to refuse a text as a piece takes otherwise.
    if (reasoningDetails === "" || !isJsonOf(reasoningDetails, Array.isArray)) return;
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
