/** Every kind of backend's entry in one union. */
import { z } from "zod";
import { llama } from "../backends/llama/index.js";
import { onnxSchema } from "../backends/onnx/schema.js";
import { openaiSchema } from "../backends/openai/config.js";

/** The entry of a backend; `type` says which kind. */
export const backendSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("embedded"), name: z.string().min(1) }),
  z.strictObject({ type: z.literal("node"), name: z.string().min(1), address: z.string() }),
  openaiSchema,
  onnxSchema,
  llama.schema,
]);
