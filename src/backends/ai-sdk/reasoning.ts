/** What a model thinks, as providers tell of it. */
import type {
  LanguageModelV3Content,
  LanguageModelV3StreamPart,
  SharedV3ProviderMetadata,
} from "@ai-sdk/provider";
import type { JsonObject } from "../../core/json.js";
import { type Reasoning, reasoningOf } from "../../core/reasoning.js";
import { type Block, Details } from "./details.js";

/** Stands between the texts of two blocks. */
const between = "\n\n";

/** The thoughts of a whole answer; nothing where it has none. */
export function thoughtsIn(content: readonly LanguageModelV3Content[]): Reasoning {
  const blocks = content
    .filter((part) => part.type === "reasoning")
    .map(({ text, providerMetadata = {} }): Block => ({ text, metadata: providerMetadata }));
  const texts = blocks.map(({ text }) => text).filter((text) => text !== "");
  const details = new Details();
  const said = blocks.flatMap((block, i) => details.of(block, blocks[i + 1]));
  const ofText = content
    .filter((part) => part.type === "text")
    .flatMap(({ providerMetadata }) => details.ofText(providerMetadata));
  return written(texts.join(between), [...said, ...ofText]);
}

/** Makes pieces of the thoughts in a stream: of texts as they come, and of details when a block ends. */
export class ThoughtParts {
  readonly #details = new Details();
  /** Blocks that have begun, by their ids: some vendors let two of them run side by side. */
  readonly #begun = new Map<string, { text: string; metadata: SharedV3ProviderMetadata }>();
  /** The block whose text came last. */
  #last: string | undefined;
  #saidOfText = "";

  /** The piece in a part of the stream, if there is one. */
  read(part: LanguageModelV3StreamPart): Reasoning | undefined {
    switch (part.type) {
      case "reasoning-start":
        this.#of(part.id, part.providerMetadata);
        return undefined;
      case "reasoning-delta":
        return this.#goOn(part.id, part.delta, part.providerMetadata);
      case "reasoning-end":
        return this.#end(part.id, part.providerMetadata);
      case "text-start":
      case "text-delta":
      case "text-end":
        return this.#ofText(part.providerMetadata);
      default:
        return undefined;
    }
  }

  /** What is said last of a block holds, as the AI SDK itself has it. */
  #of(id: string, metadata?: SharedV3ProviderMetadata) {
    const block = this.#begun.get(id) ?? { text: "", metadata: {} };
    if (metadata) block.metadata = metadata;
    this.#begun.set(id, block);
    return block;
  }

  #goOn(id: string, delta: string, metadata?: SharedV3ProviderMetadata): Reasoning | undefined {
    const block = this.#of(id, metadata);
    if (delta === "") return undefined;
    const first = block.text === "" && this.#last !== undefined;
    block.text += delta;
    this.#last = id;
    return { reasoningContent: first ? between + delta : delta };
  }

  #end(id: string, metadata?: SharedV3ProviderMetadata): Reasoning | undefined {
    const block = this.#of(id, metadata);
    this.#begun.delete(id);
    return this.#again(this.#details.of(block));
  }

  /** Providers say the same of the beginning of a text and of what it begins with. */
  #ofText(metadata?: SharedV3ProviderMetadata): Reasoning | undefined {
    const said = metadata ? JSON.stringify(metadata) : this.#saidOfText;
    if (said === this.#saidOfText) return undefined;
    this.#saidOfText = said;
    return this.#again(this.#details.ofText(metadata));
  }

  #again(details: readonly JsonObject[]): Reasoning | undefined {
    return details.length === 0 ? undefined : written("", details);
  }
}

function written(text: string, details: readonly JsonObject[]): Reasoning {
  return reasoningOf(text, details.length > 0 ? JSON.stringify(details) : "");
}
