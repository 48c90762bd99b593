/**
 * The methods of the contract, as the generated code has them. A method added
 * to the proto shows up here by itself, and in every place that must know it
 * as a compile error.
 */
import type { MessageShape } from "@bufbuild/protobuf";
import { AccountService } from "../../gen/lintel/v1/account_pb.js";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { TextToImageService } from "../../gen/lintel/v1/image_pb.js";
import { ModelsService, Task } from "../../gen/lintel/v1/models_pb.js";
import { TokensService } from "../../gen/lintel/v1/tokens_pb.js";

/** Services that a backend can serve. */
export const backendServices = [ChatService, TextToImageService] as const;

/** Every service of the contract: what backends serve, and what the core answers itself. */
export const services = [...backendServices, ModelsService, AccountService, TokensService] as const;

type BackendMethods = (typeof ChatService)["method"] & (typeof TextToImageService)["method"];
type CoreMethods = (typeof ModelsService)["method"] &
  (typeof AccountService)["method"] &
  (typeof TokensService)["method"];
type Methods = BackendMethods & CoreMethods;

/** Name of a method, for example `"chat"` or `"streamTextToImage"`. */
export type MethodName = keyof Methods;

/** Name of a method that reaches a backend. */
export type BackendMethod = keyof BackendMethods;

/** Request message of a method. */
export type Input<M extends MethodName> = MessageShape<Methods[M]["input"]>;

/** Response message of a method; a streaming method has many of them. */
export type Output<M extends MethodName> = MessageShape<Methods[M]["output"]>;

/** Descriptors by method name. */
export const methods = {
  ...ChatService.method,
  ...TextToImageService.method,
  ...ModelsService.method,
  ...AccountService.method,
  ...TokensService.method,
} as Methods;

const answeredByCore: Readonly<Record<keyof CoreMethods, true>> = {
  listModels: true,
  getAccount: true,
  createToken: true,
  listTokens: true,
  revokeToken: true,
};

/** Whether a method reaches no model: the core answers it, it is not limited, and it is no use. */
export const isCoreMethod = (method: MethodName): method is keyof CoreMethods =>
  (answeredByCore as Partial<Record<MethodName, true>>)[method] === true;

/** Whether a method answers with a completion, streamed or whole. */
export const isChat = (method: MethodName): method is "chat" | "complete" =>
  method === "chat" || method === "complete";

/** Whether a method takes a conversation: it is answered, or its tokens are counted. */
export const isConversation = (method: MethodName): method is "chat" | "complete" | "countTokens" =>
  isChat(method) || method === "countTokens";

/**
 * What kind of model a request asks for, and which: empty for the default one.
 * @param method any that reaches a model
 */
export function askedModel(method: MethodName, request: Input<MethodName>) {
  const { model = "", modelId = "" } = request as { model?: string; modelId?: string };
  return isConversation(method)
    ? { task: Task.CHAT, name: model }
    : { task: Task.TEXT_TO_IMAGE, name: modelId };
}
