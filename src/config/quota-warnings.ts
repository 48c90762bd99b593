/** Quotas of targets that do nothing. */
import type { BackendConfig, Config } from "./schema.js";

const quantities = ["requests_per_minute", "tokens_per_minute"] as const;

/** A line for each. */
export function quotaWarnings({ models, backends = [] }: Config): string[] {
  const all = models.flatMap(({ name, targets = [] }, i) =>
    targets.map((target, j) => ({
      path: `models[${i}].targets[${j}]`,
      place: JSON.stringify([target.backend, target.model ?? name]),
      target,
    })),
  );
  return all.flatMap(({ path, place, target }) => {
    const backend = backends.find(({ name }) => name === target.backend);
    return quantities.flatMap((quantity) => {
      const limit = target[quantity];
      if (limit === undefined) return [];
      const at = `${path}.${quantity}`;
      if (quantity === "tokens_per_minute" && backend && onlyDraws(backend)) {
        return `${at} limits nothing: the backend "${backend.name}" makes images, which have no tokens`;
      }
      const less = all.find((it) => it.place === place && (it.target[quantity] ?? limit) < limit);
      return less
        ? `${at} is more than that of ${less.path}, the same model there: the smallest counts`
        : [];
    });
  });
}

/** Whether it makes nothing but images, as far as its entry says. */
function onlyDraws(backend: BackendConfig): boolean {
  if (backend.type === "ai-sdk") return backend.models.every(({ task }) => task === "image");
  if (backend.type === "openai") return backend.models?.length === 0;
  return ["sdapi", "comfyui", "onnx"].includes(backend.type);
}
