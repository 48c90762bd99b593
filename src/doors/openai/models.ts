/** The models as OpenAI's clients list them. */
import type { ListModelsResponse, Model } from "../../../gen/lintel/v1/models_pb.js";
import { LintelError, noModel } from "../../core/errors.js";
import { type Modalities, modalityOf } from "../../core/model.js";
import { methods } from "../google/models.js";

/** The list as JSON text. */
export function modelList({ models }: ListModelsResponse): string {
  return JSON.stringify({ object: "list", data: models.map(modelObject) });
}

/**
 * One model as JSON text.
 * @param form as what
 * @throws LintelError `model_not_found`, or `method_not_allowed` where the name ends in what Google's clients post to
 */
export function oneModel(
  { models }: ListModelsResponse,
  id: string,
  form: (model: Model) => object,
): string {
  const model = models.find((m) => m.id === id);
  if (model) return JSON.stringify(form(model));
  if (methods.some((method) => id.endsWith(`:${method}`))) {
    throw new LintelError("method_not_allowed", "this path takes POST", { allow: "POST" });
  }
  throw noModel(id, "model");
}

/** One model. What it takes and how much it holds OpenAI does not tell; clients look for it as OpenRouter and as vLLM have it. */
export const modelObject = ({ id, created, contextLength, maxTokens, ...model }: Model) => ({
  id,
  object: "model",
  created,
  owned_by: "lintel",
  ...architectureOf(model),
  ...(contextLength > 0 && { context_length: contextLength, max_model_len: contextLength }),
  ...(maxTokens > 0 && { max_completion_tokens: maxTokens }),
});

function architectureOf(model: Modalities) {
  const modality = modalityOf(model);
  if (modality === undefined) return undefined;
  const { inputModalities: input_modalities, outputModalities: output_modalities } = model;
  return { architecture: { modality, input_modalities, output_modalities } };
}
