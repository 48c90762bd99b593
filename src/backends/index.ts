/** The kinds of backends. To add one: a line here, and its schema in the configuration. */
import type { Backend } from "../core/backend.js";
import type { BackendContext, BackendKind } from "./kind.js";

/** How to import each kind, by the `type` that selects it. */
export const kinds = {
  openai: async () => (await import("./openai/backend.js")).openaiKind,
  node: async () => (await import("./node/index.js")).node,
  embedded: async () => (await import("./embedded/index.js")).embedded,
  llama: async () => (await import("./llama/index.js")).llama,
  onnx: async () => (await import("./onnx/index.js")).onnx,
  sdapi: async () => (await import("./sdapi/index.js")).sdapi,
  comfyui: async () => (await import("./comfyui/index.js")).comfyui,
  rest: async () => (await import("./rest/index.js")).rest,
  "ai-sdk": async () => (await import("./ai-sdk/index.js")).aiSdk,
};

type Kinds = typeof kinds;

/** An entry of the configuration, checked; `type` says which kind. */
export type AnyBackendConfig = {
  [T in keyof Kinds]: Parameters<Awaited<ReturnType<Kinds[T]>>["create"]>[0];
}[keyof Kinds];

/** Makes the backend that an entry describes. Only its kind's code is loaded. */
export async function createBackend(
  config: AnyBackendConfig,
  context: BackendContext,
): Promise<Backend> {
  // biome-ignore lint/suspicious/noExplicitAny: `type` ties the entry to its kind, which TypeScript does not see
  const kind = (await kinds[config.type]()) as BackendKind<any>;
  return kind.create(config, context);
}
