/** The models as Anthropic's clients list them. */
import type { ListModelsResponse, Model } from "../../../gen/lintel/v1/models_pb.js";

/** The list as JSON text: all of it, on one page. */
export function anthropicList({ models }: ListModelsResponse): string {
  const data = models.map(anthropicModel);
  const first_id = data[0]?.id ?? null;
  const last_id = data.at(-1)?.id ?? null;
  return JSON.stringify({ data, has_more: false, first_id, last_id });
}

/** One model. */
export const anthropicModel = ({ id, created, contextLength, maxTokens }: Model) => ({
  ...{ type: "model", id, display_name: id },
  created_at: new Date(created * 1000).toISOString(),
  max_input_tokens: contextLength || null,
  max_tokens: maxTokens || null,
  // Members that the API always has.
  ...{ capabilities: null, line: null },
  ...{ lifecycle: "active", deprecated_at: null, retires_at: null },
});
