/** The models as Google's clients list them. */
import { type ListModelsResponse, type Model, Task } from "../../../gen/lintel/v1/models_pb.js";

/** The list as JSON text: all of it, on one page. */
export const googleList = ({ models }: ListModelsResponse): string =>
  JSON.stringify({ models: models.map(googleModel) });

/** What a model is asked to do, by the end of a path that is posted to. */
export const methods: readonly string[] = [
  "generateContent",
  "streamGenerateContent",
  "countTokens",
];

/** One model; those that draw can't be asked in this form. */
export const googleModel = ({ id, task, contextLength, maxTokens }: Model) => ({
  ...{ name: `models/${id}`, baseModelId: id, version: "", displayName: id },
  ...(contextLength > 0 && { inputTokenLimit: contextLength }),
  ...(maxTokens > 0 && { outputTokenLimit: maxTokens }),
  supportedGenerationMethods: task === Task.CHAT ? methods : [],
});
