/** Defaults of models that no request could have. */
import { wrongDefault } from "../core/default-bounds.js";
import type { Finding } from "./problems.js";
import { type Fields, fields } from "./raw.js";

/**
 * @param models entries of the configuration as they stand in the file
 * @param bounds the operator's, likewise
 */
export function checkDefaults(models: readonly Fields[], bounds: Fields): Finding[] {
  return models.flatMap(({ defaults }, i) =>
    Object.entries(fields(defaults)).flatMap(([name, value]) => {
      if (typeof value !== "number") return [];
      const { min, max } = fields(bounds[name]);
      const message = wrongDefault(name, value, { min: number(min), max: number(max) });
      return message ? [{ path: ["models", i, "defaults", name], message }] : [];
    }),
  );
}

const number = (value: unknown) => (typeof value === "number" ? value : undefined);
