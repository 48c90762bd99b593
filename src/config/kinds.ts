/** Every kind of backend's entry, in one union. */
import * as z from "zod";
import { aiSdkSchema } from "../backends/ai-sdk/schema.js";
import { comfyuiSchema } from "../backends/comfyui/schema.js";
import { embeddedSchema } from "../backends/embedded/schema.js";
import type { kinds } from "../backends/index.js";
import { llamaSchema } from "../backends/llama/schema.js";
import { nodeSchema } from "../backends/node/schema.js";
import { onnxSchema } from "../backends/onnx/schema.js";
import { openaiSchema } from "../backends/openai/schema.js";
import { restSchema } from "../backends/rest/schema.js";
import { sdapiSchema } from "../backends/sdapi/schema.js";

/** A kind without its schema here does not compile. */
const schemas = {
  embedded: embeddedSchema,
  openai: openaiSchema,
  node: nodeSchema,
  llama: llamaSchema,
  onnx: onnxSchema,
  sdapi: sdapiSchema,
  comfyui: comfyuiSchema,
  rest: restSchema,
  "ai-sdk": aiSdkSchema,
} satisfies Record<keyof typeof kinds, z.ZodObject>;

type Schema = (typeof schemas)[keyof typeof schemas];

/** The entry of a backend; `type` says which kind. */
export const backendSchema = z.discriminatedUnion(
  "type",
  Object.values(schemas) as [Schema, ...Schema[]],
);
