/** Headers of requests and answers of REST, as an OpenAPI document has them. */
import { keyPattern } from "../../../core/idempotency/step.js";
import { idPattern } from "../../../core/request-id.js";
import { type Part, text } from "./schema.js";

const header = (name: string, description: string, schema: Part): Part => ({
  ...{ name, in: "header", description, schema },
});

/** Those of requests that reach a model. */
export const parameters = {
  RequestId: header("x-request-id", "The request's id in logs and answers. Default: a new one.", {
    ...{ type: "string", pattern: idPattern.source },
  }),
  Timeout: header("x-request-timeout-ms", "How long the answer may take, milliseconds.", {
    ...{ type: "integer", minimum: 1 },
  }),
  IdempotencyKey: header(
    "idempotency-key",
    "A call that is repeated with it is not made twice: it gets the answer of the first.",
    { type: "string", pattern: keyPattern.source },
  ),
};

/** Those of answers. */
export const headers = {
  RequestId: { description: "The request's id in logs.", schema: text },
  Warnings: { description: "What was dropped or could not be done.", schema: text },
  Attempts: {
    description: "How often model servers were asked, where any was.",
    schema: { type: "integer", minimum: 1 },
  },
  RetryAfter: {
    description: "After how many seconds it may work.",
    schema: { type: "integer", minimum: 0 },
  },
};

/** Reference to one of an answer. */
export const headerOf = (name: keyof typeof headers): Part => ({
  $ref: `#/components/headers/${name}`,
});

/** Those of all answers. */
export const called = { "x-request-id": headerOf("RequestId") };
