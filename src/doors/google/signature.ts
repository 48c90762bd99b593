/** What model servers want to see again of thoughts and of calls, as signatures of parts. */
import type { LLMMessage, ToolCall } from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { detailsIn } from "../../core/reasoning.js";
import { sealed, unsealed } from "../json/kept-thoughts.js";

/** How OpenRouter calls what is Gemini's own. */
const gemini = "google-gemini-v1";

/** Signatures of an answer; empty: there is none. */
export interface Signatures {
  /** Of the part of thoughts. */
  readonly thoughts: string;
  /** Of the first call. */
  readonly call: string;
}

/**
 * Where what the model server wants to see again stands. Gemini itself signs the first call, and that signature is what
 * clients keep: the Gemini CLI drops parts of thoughts, ADK those without a text. So thoughts that end in a call stand
 * in its signature, with their text, unless it has one of its own.
 */
export function signaturesOf(
  { reasoningContent = "", reasoningDetails = "" }: Partial<LLMMessage>,
  calls: readonly ToolCall[],
): Signatures {
  const details = detailsIn(reasoningDetails);
  if (calls[0]?.extraContent === "" && (reasoningContent !== "" || details.length > 0)) {
    return { thoughts: "", call: sealed(reasoningDetails, reasoningContent) };
  }
  return { thoughts: details.length === 0 ? "" : sealed(reasoningDetails), call: "" };
}

/** The signature of a call; `undefined` where its server gave none. @param extraContent JSON as text */
export function callSignatureOf(extraContent: string): string | undefined {
  const extra = extraContent === "" ? undefined : parseJson(extraContent);
  if (!isObject(extra)) return undefined;
  const google = isObject(extra.google) ? extra.google : {};
  const { thought_signature: own } = google;
  return typeof own === "string" ? own : sealed(JSON.stringify([extra]));
}

/** What a server gave with a call, or a picture, by that signature; `undefined`: with its thoughts. */
export function extraContentOf(signature: string): JsonObject | undefined {
  const kept = unsealed(signature);
  if (kept === undefined) return { google: { thought_signature: signature } };
  const [first] = kept.details;
  // Details have a type.
  return typeof first?.type === "string" ? undefined : first;
}

const nothing = {};

/** Collects thoughts of parts and their signatures. */
export class SignedThoughts {
  readonly #texts: string[] = [];
  readonly #details: JsonObject[] = [];
  #signatures: Set<string> | undefined;
  /** The text in a signature, for a client that dropped the thoughts themselves. */
  #kept = "";

  /** A part of thoughts. */
  text(text: string): void {
    this.#texts.push(text);
  }

  /** The signature of a part: ours, or Gemini's own, which a client has from elsewhere. ADK puts one at several parts. */
  signature(signature: string): void {
    if (signature === "" || this.#signatures?.has(signature)) return;
    this.#signatures ??= new Set();
    this.#signatures.add(signature);
    const kept = unsealed(signature);
    if (kept === undefined) {
      const own = { type: "reasoning.encrypted", data: signature, format: gemini, index: 0 };
      this.#details.push(own);
      return;
    }
    this.#kept += kept.thinking;
    this.#details.push(...kept.details);
  }

  /** Members of a message; nothing where there were none. */
  get fields(): object {
    const reasoning_content = this.#texts.join("") || this.#kept;
    const hasDetails = this.#details.length > 0;
    if (reasoning_content === "" && this.#texts.length === 0) {
      return hasDetails ? { reasoning_details: this.#details } : nothing;
    }
    return hasDetails
      ? { reasoning_content, reasoning_details: this.#details }
      : { reasoning_content };
  }
}
