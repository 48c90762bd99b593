/** Forms of answers, as the contract has them. */
import type { ResponseFormat } from "../../gen/lintel/v1/chat_pb.js";

/** Some JSON object. */
export const jsonObject: ResponseFormat = {
  $typeName: "lintel.v1.ResponseFormat",
  type: "json_object",
};

/** What fits a schema. @param schema a text as it is, all else as JSON */
export const jsonSchema = (schema: unknown): ResponseFormat => ({
  $typeName: "lintel.v1.ResponseFormat",
  type: "json_schema",
  jsonSchema: {
    $typeName: "lintel.v1.JsonSchemaFormat",
    name: "form",
    description: "",
    schema: typeof schema === "string" ? schema : JSON.stringify(schema),
  },
});
