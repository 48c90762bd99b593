/** Errors at the paths of RPCs, for callers whose protocol can't be told. */
import { errorToJson } from "@connectrpc/connect/protocol-connect";
import { toConnectError } from "../../core/connect-error.js";
import type { LintelError } from "../../core/errors.js";
import { errorBody } from "../json/error.js";

/** The body of every error response with what clients of Connect read beside it: `code`, `message`, `details`. */
export const rpcErrorBody = (error: LintelError): object => ({
  ...(errorToJson(toConnectError(error), undefined) as object),
  ...errorBody(error),
});
