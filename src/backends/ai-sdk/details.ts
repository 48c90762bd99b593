/**
 * What vendors want to see again of thoughts, as `reasoning_details` have it: by OpenRouter's names,
 * so that a conversation may go on anywhere.
 */
import type { SharedV3ProviderMetadata } from "@ai-sdk/provider";
import type { JsonObject } from "../../core/json.js";
import { string } from "../http/json.js";

/** Whose signatures and encrypted thoughts they are. */
export type Format =
  | "anthropic-claude-v1"
  | "google-gemini-v1"
  | "openai-responses-v1"
  | "azure-openai-responses-v1"
  | "xai-responses-v1";

/** By the keys that providers have for their metadata; a vendor's usual one stands first. */
export const formats: Readonly<Record<string, Format>> = {
  anthropic: "anthropic-claude-v1",
  bedrock: "anthropic-claude-v1",
  amazonBedrock: "anthropic-claude-v1",
  google: "google-gemini-v1",
  vertex: "google-gemini-v1",
  googleVertex: "google-gemini-v1",
  openai: "openai-responses-v1",
  azure: "azure-openai-responses-v1",
  xai: "xai-responses-v1",
};

/** A block of thoughts, with what its provider says of it. */
export interface Block {
  readonly text: string;
  readonly metadata: SharedV3ProviderMetadata;
}

/** Makes details of the blocks of one answer. */
export class Details {
  #count = 0;

  /**
   * Details of a block; none where nothing has to be seen again.
   * @param next the block behind it. What is said of a whole item stands behind all its blocks
   */
  of({ text, metadata }: Block, next?: Block): JsonObject[] {
    const { format = "unknown", signature, data, id, rest } = knownIn(metadata);
    const other = Object.keys(rest).length > 0;
    const more = { ...(id && { id }), format, ...(other && { provider_metadata: rest }) };
    if (format.endsWith("responses-v1")) {
      const ends = id === "" || !next || knownIn(next.metadata).id !== id;
      return this.#numbered(
        text !== "" && { type: "reasoning.summary", summary: text, ...more },
        data !== "" && ends && { type: "reasoning.encrypted", data, ...more },
      );
    }
    if (data !== "") return this.#numbered({ type: "reasoning.encrypted", data, ...more });
    const signed = signature !== "" && { signature };
    return this.#numbered(
      (signed || other) && { type: "reasoning.text", text, ...signed, ...more },
    );
  }

  /** Details of what is said of the text of an answer, which Google signs, too. */
  ofText(metadata: SharedV3ProviderMetadata = {}): JsonObject[] {
    const { format, signature: data } = knownIn(metadata);
    if (format !== "google-gemini-v1") return [];
    return this.#numbered(data !== "" && { type: "reasoning.encrypted", data, format });
  }

  #numbered(...details: (JsonObject | false)[]): JsonObject[] {
    return details
      .filter((detail) => detail !== false)
      .map((detail) => ({ ...detail, index: this.#count++ }));
  }
}

/** What is known of metadata. */
interface Known {
  readonly format?: Format;
  readonly signature: string;
  /** Thoughts that only their vendor can read. */
  readonly data: string;
  /** Of the item that the block is a part of. */
  readonly id: string;
}

const nothing: Known = { signature: "", data: "", id: "" };

/** What is known of metadata, and by its keys what is not. */
function knownIn(metadata: SharedV3ProviderMetadata): Known & { rest: JsonObject } {
  let known = nothing;
  const rest: Record<string, unknown> = {};
  for (const [key, said] of Object.entries(metadata)) {
    const [found, left] = split(key, said);
    // Where a vendor has a former and a newer key, both say the same.
    if (known === nothing) known = found;
    const others = Object.entries(left).filter(([, value]) => value !== null);
    if (others.length > 0) rest[key] = Object.fromEntries(others);
  }
  return { ...known, rest };
}

function split(key: string, said: JsonObject): [Known, JsonObject] {
  const format = formats[key];
  if (format?.endsWith("responses-v1")) {
    const { itemId, reasoningEncryptedContent: data, ...left } = said;
    const told = itemId || data;
    return [told ? { ...nothing, format, id: string(itemId), data: string(data) } : nothing, left];
  }
  const { signature, redactedData, thoughtSignature, ...left } = said;
  const [ofClaude, data] = [string(signature), string(redactedData)];
  if (ofClaude || data) {
    const { anthropic: usual } = formats;
    return [{ ...nothing, format: format ?? usual, signature: ofClaude, data } as Known, left];
  }
  const ofGemini = string(thoughtSignature);
  if (ofGemini === "") return [nothing, left];
  return [{ ...nothing, format: "google-gemini-v1", signature: ofGemini }, left];
}
