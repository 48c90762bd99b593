/** Forms of answers that are no JSON, as grammars. */
import type { ResponseFormat } from "../../../gen/lintel/v1/chat_pb.js";
import type { TextForm } from "../../core/text-forms.js";
import { either, Gbnf, literal, notHeld, Unsupported } from "./gbnf.js";
import { regexIn } from "./regex.js";

/** Forms that a grammar can be made of. */
type Writable = Exclude<TextForm, "grammar">;

/**
 * The name of a rule for the answers of a form.
 * @throws LintelError `invalid_fields`
 * @throws Unsupported
 */
export function formIn(form: Writable, { choice, regex }: ResponseFormat, grammar: Gbnf): string {
  if (form === "regex") return regexIn(regex, grammar);
  if (choice.some((text) => text.includes("\0"))) throw new Unsupported("U+0000");
  return grammar.rule(either(choice.map(literal)));
}

/**
 * A grammar for the answers of a form.
 * @throws LintelError `invalid_fields`, or `unsupported_parameter` where no grammar says it
 */
export function grammarOf(form: Writable, format: ResponseFormat): string {
  const grammar = new Gbnf({});
  try {
    return grammar.text(formIn(form, format, grammar));
  } catch (thrown) {
    if (!(thrown instanceof Unsupported)) throw thrown;
    throw notHeld(`response_format.${form}`, `a ${form}`, thrown.message, thrown);
  }
}
