/** The OpenAPI document of a gateway whose operator moved bounds. */
import { mostItems } from "../../../core/rules.js";
import type { Bound, Bounds } from "../../../core/settings.js";
import type { Part } from "./schema.js";

interface Document {
  readonly components: {
    readonly schemas: Readonly<Record<string, { properties?: Record<string, Part> }>>;
  };
}

/**
 * The document with the operator's bounds of request fields in place of the contract's, where a
 * schema has words for them: how many prompts and LoRAs there may be it can't say.
 * @param document as `openapiDocument` made it, in JSON
 */
export function withBounds(document: string, bounds: Bounds): string {
  const { components, ...rest } = JSON.parse(document) as Document;
  for (const request of ["LLMRequest", "TextToImageRequest"]) {
    const properties = components.schemas[request]?.properties ?? {};
    for (const [name, bound] of Object.entries(bounds)) {
      const form = properties[name];
      if (form?.type) properties[name] = bounded(form, bound);
    }
  }
  return JSON.stringify({ ...rest, components });
}

/** Both ends are allowed, whatever the contract's were. JSON leaves out what is undefined. */
function bounded(form: Part, { min, max }: Bound): Part {
  if (form.type === "array") {
    const { minItems, maxItems } = form;
    return {
      ...form,
      minItems: min ?? minItems,
      maxItems: max ? Math.min(max, mostItems) : maxItems,
    };
  }
  if (form.type === "object") {
    const { maxProperties } = form;
    return { ...form, maxProperties: max ? Math.min(max, mostItems) : maxProperties };
  }
  const { exclusiveMinimum, exclusiveMaximum, ...rest } = form;
  const least = min === undefined ? { exclusiveMinimum } : { minimum: min };
  const most = max === undefined ? { exclusiveMaximum } : { maximum: max };
  return { ...rest, ...least, ...most };
}
