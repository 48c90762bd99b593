/** Headers of requests and answers of REST, as an OpenAPI document has them. */
import { keyPattern } from "../../../core/idempotency/step.js";
import { standingHeaders } from "../../../core/limits/headers.js";
import { idPattern } from "../../../core/request-id.js";
import { count, type Part, text } from "./schema.js";

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
  CacheControl: header(
    "cache-control",
    "Which kept answers will do, where the operator keeps them: `no-cache`, `max-age` and `no-store` count.",
    text,
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
  Replayed: {
    description: "This is the answer of an earlier call with the same `Idempotency-Key`.",
    schema: { const: "true" },
  },
  Cache: {
    description: "Whether this is a kept answer (RFC 9211), where the model's answers are kept.",
    schema: text,
  },
  RetryAfter: {
    description: "After how many seconds it may work.",
    schema: count,
  },
  RetryAfterMs: {
    description: "The same in milliseconds, where it is worth to wait for it.",
    schema: count,
  },
  ShouldRetry: {
    description: "It is not worth to wait for it.",
    schema: { const: "false" },
  },
  Authenticate: { description: "What is wanted.", schema: { const: "Bearer" } },
  Limit: {
    description:
      "The tightest limit of its kind that applied, where any did: the caller may so many in its window.",
    schema: count,
  },
  Remaining: { description: "How many are left of it.", schema: count },
  Reset: {
    description: "When all are there again if nobody calls, as in `1m1s`, `7.5s` and `20ms`.",
    schema: text,
  },
};

/** Reference to one of an answer. */
export const headerOf = (name: keyof typeof headers): Part => ({
  $ref: `#/components/headers/${name}`,
});

/** Those of all answers. */
export const called = { "x-request-id": headerOf("RequestId") };

/** Those of all answers to calls that limits hold for. */
const limited = Object.fromEntries(
  standingHeaders.flatMap(({ limit, remaining, reset }) => [
    [limit, headerOf("Limit")],
    [remaining, headerOf("Remaining")],
    [reset, headerOf("Reset")],
  ]),
);

/** Those of what models made. */
export const answered = {
  ...called,
  "x-lintel-warnings": headerOf("Warnings"),
  "x-lintel-attempts": headerOf("Attempts"),
  "idempotent-replayed": headerOf("Replayed"),
  ...limited,
};

/** Those of what may be of a cache. */
export const cached = { ...answered, "cache-status": headerOf("Cache") };
