/** Arguments as Python writes them, in a grammar: values as JSON has them, which are read as well. */
import type { JsonObject } from "../../../core/json.js";
import { type Gbnf, literal, Unsupported } from "../../gbnf/gbnf.js";
import { rulesOf } from "../grammar/merge.js";
import { type ObjectShape, objectOf } from "../grammar/objects.js";
import { SchemaGrammar } from "../grammar/schema.js";

const shape: ObjectShape = {
  open: "(",
  close: ")",
  member(name) {
    if (!/^[A-Za-z_]\w*$/.test(name)) throw new Unsupported(`the name ${JSON.stringify(name)}`);
    return literal(`${name}=`);
  },
  hasMore: false,
};

/**
 * Arguments that fit a schema, in its order; none that it does not name.
 * @throws Unsupported where that can't be kept to
 */
export function pythonArguments(schema: JsonObject, grammar: Gbnf): string {
  const rules = rulesOf(schema);
  const { type, properties, required, additionalProperties, ...others } = rules;
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Unsupported(`"${other}" of all arguments`);
  if (type !== "object") throw new Unsupported("arguments that are no object");
  const names = [...Object.keys(properties ?? {}), ...[required ?? []].flat()];
  if (names.length === 0 && additionalProperties !== false) return anyPythonArguments(grammar);
  return objectOf(rules, new SchemaGrammar(grammar, schema), shape);
}

/** Any arguments. */
export function anyPythonArguments(grammar: Gbnf): string {
  const one = grammar.rule('[A-Za-z_] [A-Za-z0-9_]{0,63} "=" value');
  return `"(" ws (${one} ("," ws ${one})* ws)? ")"`;
}
