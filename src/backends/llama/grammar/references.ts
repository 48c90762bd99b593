/** `$ref` within a schema's own document, which has to have what it stands for. */
import type { JsonObject } from "../../../core/json.js";
import { referredIn } from "../../../core/schema-references.js";
import { Unsupported } from "../../gbnf/gbnf.js";

/** What a reference stands for. @throws Unsupported where that is nothing, or in another document */
export function referred(document: JsonObject, reference: string): unknown {
  const found = referredIn(document, reference);
  if (found !== undefined) return found;
  throw new Unsupported(
    `"$ref" to ${JSON.stringify(reference.slice(0, 100))}, which the schema does not have`,
  );
}
