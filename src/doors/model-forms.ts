/** The forms in which clients list models, of which several ask at one path: they say by headers whose they are. */
import type { FastifyRequest } from "fastify";
import type { ListModelsResponse, Model } from "../../gen/lintel/v1/models_pb.js";
import { anthropicList, anthropicModel } from "./anthropic/models.js";
import { googleList, googleModel } from "./google/models.js";
import { modelList, modelObject } from "./openai/models.js";

/** How a family of clients reads models. */
export interface ModelForm {
  /** All of them, as JSON text. */
  list(models: ListModelsResponse): string;
  one(model: Model): object;
}

const openai: ModelForm = { list: modelList, one: modelObject };
const anthropic: ModelForm = { list: anthropicList, one: anthropicModel };
const google: ModelForm = { list: googleList, one: googleModel };

/** The form for a request: OpenAI's, unless it is another's. */
export function modelForm({ headers }: FastifyRequest): ModelForm {
  if (headers["anthropic-version"] !== undefined) return anthropic;
  const isGoogles = headers["x-goog-api-key"] ?? headers["x-goog-api-client"];
  return isGoogles === undefined ? openai : google;
}
