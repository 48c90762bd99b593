/** Bodies of the JSON doors: what is read, and what is wrong with them. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Admission } from "../../core/call.js";
import { LintelError } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { type PassedOver, passedOver } from "../../core/json-keys.js";
import { makeWellFormed } from "../../core/well-formed.js";
import { credentialOf } from "../credential.js";
import type { DoorOptions } from "../door.js";
import { clientOfRequest } from "../origin.js";
import { discard, readBytes } from "./bytes.js";
import { fromFastify, sendError, unsupportedMediaType } from "./error.js";
import { describeFault, describeTwice } from "./fault.js";
import type { Known } from "./known.js";
import { putBack } from "./long-numbers.js";

/** The text of a body, where something in it was passed over. */
interface Passed extends PassedOver {
  readonly text: string;
}

/** What was parsed: an object, or why there is none. */
export type Parsed =
  | { readonly json: JsonObject; readonly defect?: undefined; readonly passed?: Passed }
  | { readonly json?: undefined; readonly defect: LintelError; readonly passed?: undefined };

/** A body with who sent it. Of a caller who is not let in it was not read, and both are absent. */
export interface JsonBody {
  readonly json?: JsonObject | undefined;
  readonly defect?: LintelError | undefined;
  readonly passed?: Passed | undefined;
  /** Absent where there was nothing to read: the call finds out. */
  readonly admission?: Admission;
}

/**
 * Makes a door take JSON bodies, and nothing else. A body is read once its caller
 * is let in. A broken one is no failure here but a defect that the handler hands
 * to the core.
 */
export function takeJson(app: FastifyInstance, { gateway, settings }: DoorOptions): void {
  const limit = settings.bodyLimit;
  const client = clientOfRequest(settings);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", (request, payload, done) => {
    const read = (admission: Admission) => {
      if (admission instanceof LintelError) {
        discard(payload);
        done(null, { admission } satisfies JsonBody);
        return;
      }
      readBytes(request, payload, limit, (error, bytes = Buffer.alloc(0)) => {
        // Written out: V8 spreads an object with one more key slowly.
        const { json, defect, passed } = error ? { defect: error } : parsed(request, bytes);
        done(null, { json, defect, passed, admission } satisfies JsonBody);
      });
    };
    const admission = gateway.admit(
      credentialOf(request.headers.authorization),
      client,
      request.headers,
      request.raw,
    );
    if (admission instanceof Promise) void admission.then(read);
    else read(admission);
  });
  app.setErrorHandler(async (thrown, request, reply) => {
    const error = fromFastify(thrown);
    if (error.code === "unsupported_media_type") {
      // What no parser takes comes here: refused like all else, by a call that is told of.
      // Without its cause, which would be a stack in the log for each.
      request.body = { defect: unsupportedMediaType() } satisfies JsonBody;
      request.routeOptions.handler.call(app, request, reply);
      return reply;
    }
    if (error.code === "internal") {
      gateway.log.error({ err: thrown, id: request.id }, "a request could not be answered");
    }
    return sendError(reply, error);
  });
}

/**
 * Takes the body of a request, which does not keep it for as long as its answer runs.
 * @param known what is read of it
 */
export function bodyOf(request: FastifyRequest, known: Known): JsonBody {
  const { body, headers } = request;
  if (body !== undefined) {
    request.body = undefined;
    const read = body as JsonBody;
    const { json, passed } = read;
    const defect = twiceIn(read, known);
    if (defect) return { defect, admission: read.admission };
    if (json && passed?.digits) putBack(passed.text, json, known);
    return read;
  }
  // Fastify reads no body where neither a length nor a type is given.
  return headers["content-type"] === undefined
    ? { defect: unsupportedMediaType() }
    : broken("the body is empty");
}

function parsed(request: FastifyRequest, bytes: Uint8Array): Parsed {
  return isPlainUtf8(request) ? parseBody(bytes) : { defect: unsupportedMediaType() };
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The JSON object that a body's bytes are. Never throws. */
export function parseBody(bytes: Uint8Array): Parsed {
  if (bytes.length === 0) return broken("the body is empty");
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return broken("the body is not valid UTF-8");
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return broken(`the body is not valid JSON: ${describeFault(text)}`);
  }
  if (!isObject(json)) return broken("the body must be a JSON object");
  const { twice, digits } = passedOver(text, json);
  // Answers, warnings and errors repeat some of it, and model servers get the rest.
  makeWellFormed(json, text);
  return twice || digits ? { json, passed: { text, twice, digits } } : { json };
}

/** The error for a key that stands twice in one object and is known: nobody can say which value is meant. */
export function twiceIn(
  { passed }: Pick<JsonBody, "passed">,
  known: Known,
): LintelError | undefined {
  const place = passed?.twice ? describeTwice(passed.text, known) : undefined;
  if (place === undefined) return undefined;
  return new LintelError("invalid_json", `the body has a key twice in one object: ${place}`);
}

function isPlainUtf8({ headers }: FastifyRequest): boolean {
  if ((headers["content-encoding"] ?? "identity").toLowerCase() !== "identity") return false;
  return isUtf8(headers["content-type"] ?? "");
}

/** Whether a content type names no other charset than UTF-8. */
export function isUtf8(contentType: string): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType);
  return charset === null || /^utf-?8$/i.test(charset[1] ?? "");
}

const broken = (message: string): { readonly defect: LintelError } => ({
  defect: new LintelError("invalid_json", message),
});
