/** The text encoder: prompts to the states that the UNet looks at. */
import { files } from "./folder.js";
import type { Graph } from "./graph.js";
import { ModelProblem } from "./problem.js";
import type { PromptTokenizer } from "./tokens.js";

/** What the encoder makes of one prompt. */
export interface EncodedPrompt {
  /** `tokens` rows of `width` numbers. */
  readonly states: Float32Array;
  readonly tokens: number;
  readonly width: number;
  /** Whether the prompt was longer than the model takes. */
  readonly cut: boolean;
}

/** Encodes a prompt. */
export type EncodePrompt = (text: string) => Promise<EncodedPrompt>;

/** Prompts that are kept; the empty negative prompt is nearly always one of them. */
const kept = 32;

/** Makes the encoder of a model, which remembers the latest prompts. */
export function promptEncoder(graph: Graph, tokenize: PromptTokenizer): EncodePrompt {
  const cache = new Map<string, EncodedPrompt>();
  return async (text) => {
    const known = cache.get(text);
    if (known) {
      cache.delete(text);
      cache.set(text, known);
      return known;
    }
    const { ids, cut } = tokenize(text);
    const { data, dims } = await graph.run({ input_ids: [ids, [1, ids.length]] });
    const [, tokens, width] = dims;
    if (dims.length !== 3 || !tokens || !width) {
      throw new ModelProblem(
        `${files.textEncoder}: gives a tensor of shape [${dims}], not [1, n, d]`,
      );
    }
    const encoded = { states: data, tokens, width, cut };
    cache.set(text, encoded);
    const [oldest] = cache.keys();
    if (cache.size > kept && oldest !== undefined) cache.delete(oldest);
    return encoded;
  };
}
