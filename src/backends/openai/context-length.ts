/** How long a conversation may be, as servers list it with their models. */
import { isObject, type JsonObject } from "../../core/json.js";
import { uint32 } from "../http/json.js";

/**
 * Where it stands: vLLM's and SGLang's, of which many servers are made; OpenRouter's, Together AI's, Cohere's, Moonshot's,
 * Fireworks' and Lintel's; Groq's; Mistral's; Anthropic's; Novita's.
 */
const members = [
  ...["max_model_len", "context_length", "context_window", "max_context_length"],
  ...["max_input_tokens", "context_size"],
];

/**
 * What an entry of a list tells of it. llama.cpp has it in `meta`, where `n_ctx_train` is what the model was made for and not
 * what its server holds; Venice in `model_spec`; DeepInfra in `metadata`. A router's provider may hold less than the model.
 */
export function contextIn(entry: JsonObject): { contextLength?: number } {
  const { meta, model_spec, metadata, top_provider } = entry;
  const told = members.map((member) => entry[member]);
  const nested = [
    at(meta, "n_ctx"),
    at(model_spec, "availableContextTokens"),
    at(metadata, "context_length"),
  ];
  const ofModel = [...told, ...nested].map(uint32).find((tokens) => tokens > 0) ?? 0;
  const ofProvider = uint32(at(top_provider, "context_length"));
  const known = [ofModel, ofProvider].filter((tokens) => tokens > 0);
  return known.length > 0 ? { contextLength: Math.min(...known) } : {};
}

const at = (parent: unknown, member: string): unknown =>
  isObject(parent) ? parent[member] : undefined;
