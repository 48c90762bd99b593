/** The kinds of backends. To add one: a line here, and its schema in the configuration. */
import type { Backend } from "../core/backend.js";
import type { BackendContext, CreateBackend } from "./kind.js";

/** How to import each kind, by the `type` that selects it. */
export const kinds = {
  openai: async () => (await import("./openai/index.js")).createOpenaiBackend,
  node: async () => (await import("./node/index.js")).createNodeBackend,
  embedded: async () => (await import("./embedded/index.js")).createEmbeddedBackend,
  llama: async () => (await import("./llama/index.js")).createLlamaBackend,
  onnx: async () => (await import("./onnx/index.js")).createOnnxBackend,
  sdapi: async () => (await import("./sdapi/index.js")).createSdapiBackend,
  comfyui: async () => (await import("./comfyui/index.js")).createComfyuiBackend,
  rest: async () => (await import("./rest/index.js")).createRestBackend,
  "ai-sdk": async () => (await import("./ai-sdk/index.js")).createAiSdkBackend,
};

type Kinds = typeof kinds;

/** An entry of the configuration, checked; `type` says which kind. */
export type AnyBackendConfig = {
  [T in keyof Kinds]: Parameters<Awaited<ReturnType<Kinds[T]>>>[0];
}[keyof Kinds];

/** Makes the backend that an entry describes. Only its kind's code is loaded. */
export async function createBackend(
  config: AnyBackendConfig,
  context: BackendContext,
): Promise<Backend> {
  const create: CreateBackend<never> = await kinds[config.type]();
  // `type` ties the entry to its kind, which TypeScript does not see.
  return create(config as never, context);
}
