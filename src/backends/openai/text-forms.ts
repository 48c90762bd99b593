/** How servers are asked for answers in forms that are no JSON. */
import type { ResponseFormat } from "../../../gen/lintel/v1/chat_pb.js";
import { type TextForm, textForms } from "../../core/text-forms.js";
import { grammarOf } from "../gbnf/form.js";

/** What a server knows of them. */
export interface TextForms {
  readonly takes: readonly TextForm[];
  /**
   * The fields of a request for a form that it takes.
   * @throws LintelError where the form can't be said to it
   */
  write(form: TextForm, format: ResponseFormat): object;
}

/** vLLM's, since 0.10.2: before, and after 0.12 the names before, are passed over in silence. */
export const structuredOutputs: TextForms = {
  takes: textForms,
  write: (form, format) => ({ structured_outputs: { [form]: format[form] } }),
};

/** SGLang's. */
export const regexOrEbnf: TextForms = {
  takes: textForms,
  write: (form, format) =>
    form === "grammar" ? { ebnf: format.grammar } : { regex: expressionOf(form, format) },
};

/** llama.cpp's and LocalAI's, who take GBNF. */
export const gbnf: TextForms = {
  takes: textForms,
  write: (form, format) => ({
    grammar: form === "grammar" ? format.grammar : grammarOf(form, format),
  }),
};

/** An expression in `response_format`. @param member what it is called: TGI's `value`, Together's `pattern` */
export const regexAs = (member: "value" | "pattern"): TextForms => ({
  takes: ["choice", "regex"],
  write: (form, format) => ({
    response_format: { type: "regex", [member]: expressionOf(form, format) },
  }),
});

const expressionOf = (form: TextForm, { choice, regex }: ResponseFormat): string =>
  form === "choice" ? `(${choice.map(asExpression).join("|")})` : regex;

/** An expression that a text alone matches. */
const asExpression = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
