/** Tokens that a request makes likelier, or less likely. */
import type { LlamaModel, Token, TokenBias } from "node-llama-cpp";
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import { isBiased } from "../../core/defaults.js";
import { invalidFields } from "../../core/errors.js";
import { importLlama } from "./library.js";

/** What is added to the logits of a model's tokens. */
export interface Biased {
  readonly bias: TokenBias;
  /** What of it can't be done. */
  readonly warnings: readonly string[];
}

/**
 * What a request adds to the logits of tokens; `undefined`: nothing.
 * @throws LintelError `invalid_fields` for a token that the model has not
 */
export async function biasOf(
  model: LlamaModel,
  { logitBias }: LLMRequest,
): Promise<Biased | undefined> {
  if (!isBiased(logitBias)) return undefined;
  const { TokenBias } = await importLlama();
  const count = model.fileInfo.metadata.tokenizer?.ggml?.tokens?.length ?? Number.MAX_SAFE_INTEGER;
  const bias = TokenBias.for(model);
  const warnings: string[] = [];
  for (const [id, logit] of Object.entries(logitBias)) {
    const field = `logit_bias["${id}"]`;
    const token = Number(id) as Token;
    if (token >= count) {
      const message = `its key must be from 0 to ${count - 1} for this model`;
      throw invalidFields([{ field, message }], "elsewhere");
    }
    // The engine leaves these as they are, and says nothing of it.
    if (model.isEogToken(token)) warnings.push(`${field}: ends answers of this model, ignored`);
    else bias.set(token, { logit });
  }
  return { bias, warnings };
}
