/** `$ref` within a schema's own document. */
import { isObject, type JsonObject } from "../../../core/json.js";
import { Unsupported } from "./gbnf.js";

/** What a reference stands for. @throws Unsupported where that is nothing, or in another document */
export function referred(document: JsonObject, reference: string): unknown {
  if (reference !== "#" && !reference.startsWith("#/")) throw unknown(reference);
  let found: unknown = document;
  for (const part of reference.split("/").slice(1)) {
    const name = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
    const inside: unknown = Array.isArray(found)
      ? found[Number(name)]
      : isObject(found) && Object.hasOwn(found, name)
        ? found[name]
        : undefined;
    if (inside === undefined) throw unknown(reference);
    found = inside;
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

const unknown = (reference: string) =>
  new Unsupported(
    `"$ref" to ${JSON.stringify(reference.slice(0, 100))}, which the schema does not have`,
  );
