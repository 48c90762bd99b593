/** The models as OpenAI's clients list them. */
import type { ListModelsResponse, Model } from "../../../gen/lintel/v1/models_pb.js";
import { noModel } from "../../core/errors.js";

/** The list as JSON text. */
export function modelList({ models }: ListModelsResponse): string {
  return JSON.stringify({ object: "list", data: models.map(modelObject) });
}

/**
 * One model as JSON text.
 * @param form as what
 * @throws LintelError `model_not_found`
 */
export function oneModel(
  { models }: ListModelsResponse,
  id: string,
  form: (model: Model) => object,
): string {
  const model = models.find((m) => m.id === id);
  if (model) return JSON.stringify(form(model));
  throw noModel(id, "model");
}

/** One model. */
export const modelObject = ({ id, created }: Model) => ({
  id,
  object: "model",
  created,
  owned_by: "lintel",
});
