/** Which models backends serve, as far as the file says. */
import { type Fields, fields } from "./raw.js";

/** Names of the models that a backend's entry lists, or `undefined` if only its server knows. */
export function servedModels(backend: Fields): readonly string[] | undefined {
  const names = listed(backend);
  const all = names.every((name) => typeof name === "string" && name !== "");
  return names.length > 0 && all ? (names as string[]) : undefined;
}

/** Those of all backends, or `undefined` if the file does not say it of each, or there is none. */
export function allServed(backends: readonly Fields[]): readonly string[] | undefined {
  const served = backends.map(servedModels).filter((names) => names !== undefined);
  return served.length === backends.length && served.length > 0 ? served.flat() : undefined;
}

function listed({ type, id, models, image_models }: Fields): readonly unknown[] {
  switch (type) {
    case "llama":
    case "onnx":
      return id === undefined ? [] : [id];
    // These list files, and titles of checkpoints.
    case "embedded":
    case "sdapi":
      return [];
    default: {
      if (!Array.isArray(models) || models.length === 0) return [];
      const names = models.map((model) =>
        typeof model === "string" ? model : (fields(model).name ?? fields(model).id),
      );
      return [...names, ...(Array.isArray(image_models) ? image_models : [])];
    }
  }
}
