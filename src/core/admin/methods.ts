/** The methods of administration, as the generated code has them. */
import type { DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import { StatusService } from "../../../gen/lintel/admin/v1/status_pb.js";
import { TokensService } from "../../../gen/lintel/admin/v1/tokens_pb.js";
import { UsageService } from "../../../gen/lintel/admin/v1/usage_pb.js";

/** Every service of administration. */
export const adminServices = [TokensService, UsageService, StatusService] as const;

type Methods = (typeof TokensService)["method"] &
  (typeof UsageService)["method"] &
  (typeof StatusService)["method"];

/** Name of a method, for example `"createToken"`. */
export type AdminMethod = keyof Methods;

/** Request message of a method. */
export type AdminInput<M extends AdminMethod> = MessageShape<Methods[M]["input"]>;

/** Response message of a method. */
export type AdminOutput<M extends AdminMethod> = MessageShape<Methods[M]["output"]>;

/** Descriptors by method name. */
export const adminMethods = {
  ...TokensService.method,
  ...UsageService.method,
  ...StatusService.method,
} as Methods & Readonly<Record<AdminMethod, DescMethodUnary>>;
