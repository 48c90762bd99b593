/** The text encoders: prompts to the states that the UNet looks at. */
import type { Graph } from "./graph.js";
import { JobProblem, ModelProblem } from "./problem.js";
import type { PromptTokenizer } from "./tokens.js";

/** What the encoders make of one prompt. */
export interface EncodedPrompt {
  /** `tokens` rows of `width` numbers. */
  readonly states: Float32Array;
  readonly tokens: number;
  readonly width: number;
  /** The prompt as a whole; only of models that want it. */
  readonly pooled?: Float32Array;
  /** Whether the prompt was longer than the model takes. */
  readonly cut: boolean;
}

/**
 * Encodes a prompt: one text for each encoder, where the first stands in for those that lack.
 * @throws JobProblem that names the prompt's field, if it has more texts
 */
export type EncodePrompt = (
  texts: readonly string[],
  field: "prompt" | "negative_prompt",
) => Promise<EncodedPrompt>;

/** One encoder: its tokenizer, its graph, and which of its outputs count. */
export interface Encoder {
  readonly tokenize: PromptTokenizer;
  readonly graph: Graph;
  readonly outputs: EncoderOutputs;
}

/** Names of outputs. */
export interface EncoderOutputs {
  readonly states: string;
  readonly pooled?: string | undefined;
}

/** Prompts that are kept; the empty negative prompt is nearly always one of them. */
const kept = 32;

/** What the UNets of a layout look at: the last states, or, of two encoders, those before. */
export function outputsOf(graph: Graph, layout: "sd" | "xl", isLast: boolean): EncoderOutputs {
  if (layout === "sd") return { states: "last_hidden_state" };
  const layers = graph.outputs.filter((name) => name.startsWith("hidden_states.")).length;
  if (layers < 2) {
    throw new ModelProblem(
      `${graph.file.name}: does not give its hidden states, but ${graph.outputs.join(", ")}`,
    );
  }
  return { states: `hidden_states.${layers - 2}`, pooled: isLast ? "text_embeds" : undefined };
}

/** Makes the encoding of a model, which remembers the latest prompts. */
export function promptEncoder(encoders: readonly Encoder[]): EncodePrompt {
  const each = encoders.map(remembering);
  return async (texts, field) => {
    if (texts.length > encoders.length) {
      throw new JobProblem(
        field,
        `has ${texts.length} parts, but this model has text encoders for ${encoders.length}`,
      );
    }
    const parts: EncodedPrompt[] = [];
    for (const [i, encode] of each.entries()) parts.push(await encode(texts[i] || texts[0] || ""));
    return sideBySide(parts);
  };
}

function remembering({ tokenize, graph, outputs }: Encoder) {
  const cache = new Map<string, EncodedPrompt>();
  return async (text: string): Promise<EncodedPrompt> => {
    const known = cache.get(text);
    if (known) {
      cache.delete(text);
      cache.set(text, known);
      return known;
    }
    const { ids, cut } = tokenize(text);
    const encoded = { ...(await encode(graph, outputs, ids)), cut };
    cache.set(text, encoded);
    const [oldest] = cache.keys();
    if (cache.size > kept && oldest !== undefined) cache.delete(oldest);
    return encoded;
  };
}

async function encode(graph: Graph, outputs: EncoderOutputs, ids: readonly number[]) {
  const wanted = outputs.pooled ? [outputs.states, outputs.pooled] : [outputs.states];
  const [states, pooled] = await graph.runAll({ input_ids: [ids, [1, ids.length]] }, wanted);
  const { data = new Float32Array(), dims = [] } = states ?? {};
  const [, tokens, width] = dims;
  if (dims.length !== 3 || !tokens || !width) {
    throw new ModelProblem(`${graph.file.name}: gives a tensor of shape [${dims}], not [1, n, d]`);
  }
  return { states: data, tokens, width, ...(pooled && { pooled: pooled.data }) };
}

/** The states of several encoders in one row for each token. */
function sideBySide(parts: readonly EncodedPrompt[]): EncodedPrompt {
  const [first, ...rest] = parts as [EncodedPrompt, ...EncodedPrompt[]];
  if (rest.length === 0) return first;
  const { tokens } = first;
  const unlike = rest.find((part) => part.tokens !== tokens);
  if (unlike) {
    throw new ModelProblem(
      `the text encoders give different numbers of tokens: ${tokens} and ${unlike.tokens}`,
    );
  }
  const width = parts.reduce((sum, part) => sum + part.width, 0);
  const states = new Float32Array(tokens * width);
  let offset = 0;
  for (const part of parts) {
    for (let row = 0; row < tokens; row++) {
      const from = row * part.width;
      states.set(part.states.subarray(from, from + part.width), row * width + offset);
    }
    offset += part.width;
  }
  const pooled = parts.findLast((part) => part.pooled)?.pooled;
  const cut = parts.some((part) => part.cut);
  return { states, tokens, width, cut, ...(pooled && { pooled }) };
}

/** Nothing at all, in the shape of another prompt. */
export function zerosLike(prompt: EncodedPrompt): EncodedPrompt {
  return {
    ...prompt,
    cut: false,
    states: new Float32Array(prompt.states.length),
    ...(prompt.pooled && { pooled: new Float32Array(prompt.pooled.length) }),
  };
}
