/**
 * How an error looks in JSON and in HTTP headers. One body serves both families
 * of clients: OpenAI's read `error.message`, the others `detail`.
 */
import type { FastifyReply } from "fastify";
import { LintelError, toLintelError } from "../../core/errors.js";
import type { Running } from "../../core/gateway.js";
import { parseJson } from "../../core/json.js";
import type { MethodName } from "../../core/methods.js";
import { retryAfterHeader } from "../retry-after.js";
import { headersOf } from "./headers.js";

/** What OpenAI's clients read, at the top of a body or inside of a stream. */
export interface ErrorObject {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
}

/** One field at fault, as FastAPI's clients read it. */
export interface FieldDetail {
  /** `body`, or `query` or `path` where a request has none, then the path: names and positions. */
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: "value_error";
}

/** The body of every error response. */
export interface ErrorBody {
  readonly error: ErrorObject;
  readonly detail: { readonly msg: string } | readonly FieldDetail[];
}

/** Makes the body of an error response. @param requestId as the header `x-request-id` has it */
export type ErrorForm = (error: LintelError, requestId: string) => object;

declare module "fastify" {
  interface FastifyContextConfig {
    /** How errors of a route look; absent: as `errorBody` makes them. */
    errorForm?: ErrorForm;
    /** Whether nothing is there, which the route says in words of its own. */
    absent?: boolean;
    /** Whether it is another path's second name, which errors offer only to who asks below its first step. */
    alias?: boolean;
  }
}

/** The `error` object alone. */
export function errorObject(error: LintelError): ErrorObject {
  return {
    message: error.message,
    type: error.type,
    param: error.param ?? null,
    code: error.code,
  };
}

/** The whole body: fields at fault are listed each with its place. @param part of the request that has them */
export function errorBody(error: LintelError, part: "body" | "query" | "path" = "body"): ErrorBody {
  const detail =
    error.violations.length > 0
      ? error.violations.map(({ field, message }) => ({
          loc: [part, ...pathOf(field)],
          msg: message,
          type: "value_error" as const,
        }))
      : { msg: error.message };
  return { error: errorObject(error), detail };
}

/** Errors of requests that have a body. */
const bodyError: ErrorForm = (error) => errorBody(error);

/** Errors of requests that have none. */
export const queryError: ErrorForm = (error) => errorBody(error, "query");

/** The same, where a part of the path is asked for. */
export const pathError: ErrorForm = (error) => errorBody(error, "path");

/**
 * Sends an error as a JSON response with the headers that its status wants.
 * Does nothing once headers went out; a caller who left gets no body.
 * @param running the call that failed, whose id, warnings and metadata go along; absent: there was none
 * @param notes warnings of the door itself
 * @param form of the body; absent: the route's
 */
export function sendError(
  reply: FastifyReply,
  error: LintelError,
  running?: Running<MethodName>,
  notes?: readonly string[],
  form?: ErrorForm,
): FastifyReply {
  if (reply.sent || reply.raw.headersSent) return reply;
  // Fastify wants to close connections that broke. HTTP/2 has no such header, and who still
  // sends what is too large would lose the answer: the rest is read and dropped.
  if (reply.request.raw.httpVersionMajor === 2 || error.code === "too_large")
    reply.removeHeader("connection");
  const id = () => ({ "x-request-id": reply.getHeader("x-request-id") ?? reply.request.id });
  reply.code(error.http).headers(running ? headersOf(running, notes) : id());
  reply.headers(retryAfterHeader(error));
  if (error.http === 401) reply.header("www-authenticate", "Bearer");
  if (error.allow !== undefined) reply.header("allow", error.allow);
  if (error.code === "cancelled") return reply.send();
  // Of a path that is not there there is no route.
  const { errorForm = bodyError } = reply.request.routeOptions?.config ?? {};
  const body = (form ?? errorForm)(error, String(reply.getHeader("x-request-id")));
  return reply.type("application/json; charset=utf-8").send(JSON.stringify(body));
}

/**
 * What Fastify found wrong with a request, as an error of ours.
 * @param limit most bytes of a body, to be named
 */
export function fromFastify(thrown: unknown, limit?: number): LintelError {
  const { code, statusCode } = thrown as { code?: unknown; statusCode?: unknown };
  switch (code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return bodyTooLarge(limit, thrown);
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
    case "FST_ERR_CTP_EMPTY_TYPE":
      return unsupportedMediaType(thrown);
  }
  if (statusCode === 400) return bodyIncomplete(thrown);
  return toLintelError(thrown);
}

/** @param limit most bytes of a body, to be named */
export function bodyTooLarge(limit?: number, cause?: unknown): LintelError {
  const most = limit === undefined ? "" : `: at most ${limit} bytes are allowed`;
  return new LintelError("too_large", `the body is too large${most}`, { cause });
}

/** The body broke off, or its length is not what was announced. */
export const bodyIncomplete = (cause: unknown): LintelError =>
  new LintelError("invalid_json", "the body is incomplete", { cause });

/** The body is not what a JSON door reads. */
export function unsupportedMediaType(cause?: unknown): LintelError {
  return new LintelError(
    "unsupported_media_type",
    "send JSON as UTF-8, not compressed, with the header Content-Type: application/json",
    { cause },
  );
}

/** `messages[0].role` as `["messages", 0, "role"]`, `logit_bias["5"]` as `["logit_bias", "5"]`. */
function pathOf(field: string): (string | number)[] {
  const path: (string | number)[] = [];
  for (const [, position, key, name] of field.matchAll(
    /\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]]+)/g,
  )) {
    if (key !== undefined) path.push(String(parseJson(key)));
    else path.push(position === undefined ? (name ?? "") : Number(position));
  }
  return path;
}
