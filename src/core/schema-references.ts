/** `$ref` within a JSON Schema's own document. */
import { isObject, type JsonObject } from "./json.js";

/** What a reference stands for; `undefined` where that is nothing, or in another document. */
export function referredIn(document: JsonObject, reference: string): unknown {
  if (reference !== "#" && !reference.startsWith("#/")) return undefined;
  let found: unknown = document;
  for (const part of reference.split("/").slice(1)) {
    const name = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
    found = Array.isArray(found)
      ? found[Number(name)]
      : isObject(found) && Object.hasOwn(found, name)
        ? found[name]
        : undefined;
    if (found === undefined) return undefined;
  }
  return found;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
