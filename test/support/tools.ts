/** Tools that models may call, as the contract has them. */
import type { FunctionTool, Tool } from "../../gen/lintel/v1/chat_pb.js";

/** A function. @param parameters the schema of its arguments, or a text in its place */
export const functionTool = (
  name: string,
  parameters: object | string,
  more: Partial<Omit<FunctionTool, "$typeName" | "name" | "parameters">> = {},
): Tool => ({
  $typeName: "lintel.v1.Tool",
  type: "function",
  function: {
    $typeName: "lintel.v1.FunctionTool",
    name,
    description: "",
    parameters: typeof parameters === "string" ? parameters : JSON.stringify(parameters),
    ...more,
  },
});
