/** Forms of answers, as the contract has them. */
import type { ResponseFormat } from "../../gen/lintel/v1/chat_pb.js";
import type { TextForm } from "../../src/core/text-forms.js";

/** A form of a type, and what belongs to it. */
const formOf = (type: string, more: Partial<ResponseFormat> = {}): ResponseFormat => ({
  $typeName: "lintel.v1.ResponseFormat",
  ...{ type, choice: [], regex: "", grammar: "" },
  ...more,
});

/** Some JSON object. */
export const jsonObject = formOf("json_object");

/** What fits a schema. @param schema a text as it is, all else as JSON */
export const jsonSchema = (schema: unknown): ResponseFormat =>
  formOf("json_schema", {
    jsonSchema: {
      $typeName: "lintel.v1.JsonSchemaFormat",
      name: "form",
      description: "",
      schema: typeof schema === "string" ? schema : JSON.stringify(schema),
    },
  });

/** A text of a form. @param value the texts, the expression or the grammar */
export const textForm = (type: TextForm, value: string | string[]): ResponseFormat =>
  formOf(type, { [type]: value });
