/** Names of what a call does, after OpenTelemetry's conventions for generative AI. */
import type { MethodName } from "../core/methods.js";

/** What a method is called there; absent: it is no operation of a model. */
export interface Operation {
  /** `gen_ai.operation.name` */
  readonly name: "chat" | "generate_content";
  /** `gen_ai.output.type` */
  readonly output: "text" | "image";
  /** Whether the answer comes in pieces. */
  readonly stream: boolean;
}

const operations: Readonly<Record<MethodName, Operation | undefined>> = {
  chat: { name: "chat", output: "text", stream: true },
  complete: { name: "chat", output: "text", stream: false },
  textToImage: { name: "generate_content", output: "image", stream: false },
  streamTextToImage: { name: "generate_content", output: "image", stream: true },
  countTokens: undefined,
  listModels: undefined,
  getAccount: undefined,
  createToken: undefined,
  listTokens: undefined,
  revokeToken: undefined,
};

/** The operation of a method; absent: it is none of a model. */
export const operationOf = (method: MethodName): Operation | undefined => operations[method];

/** `gen_ai.provider.name` of what this gateway serves itself. */
export const ownProvider = "lintel";

/** Providers by backend's name; those that are not in it are called by this gateway's own name. */
export type Providers = ReadonlyMap<string, string>;
