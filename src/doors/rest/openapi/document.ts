/** The REST contract as an OpenAPI document: made when code is generated, from the proto and the tables of the code. */
import { version } from "../../../version.js";
import { answerSchemas } from "./answers.js";
import { Contract } from "./contract.js";
import { codesByStatus } from "./errors.js";
import { cached, called, headerOf, headers, parameters } from "./headers.js";
import { json, pathsOf } from "./paths.js";
import { addRequest } from "./requests.js";
import type { Part } from "./schema.js";

const flag = (description: string): Part => ({
  type: "boolean",
  description: `${description} Default false.`,
});

/** Fields of requests that say how REST answers. */
const stream = {
  stream: flag("Whether the answer comes as events, as it is made."),
};
const streamOptions = {
  stream_options: {
    type: "object",
    description: "More about the events.",
    properties: {
      include_usage: flag(
        "Whether `usage` comes in one more chunk, without choices, as OpenAI has it.",
      ),
    },
  },
};

/** Headers that errors have of their own, by the status. */
const headersOfErrors: Readonly<Record<number, Part>> = {
  401: { "www-authenticate": headerOf("Authenticate") },
  429: {
    "retry-after": headerOf("RetryAfter"),
    "retry-after-ms": headerOf("RetryAfterMs"),
    "x-should-retry": headerOf("ShouldRetry"),
  },
  503: { "retry-after": headerOf("RetryAfter") },
};

/** Statuses of calls that come to no model, and count in no limit. */
const early: ReadonlySet<number> = new Set([401, 413, 415, 416]);

const responseOf = ([status, codes]: readonly [number, readonly string[]]) => [
  `Error${status}`,
  {
    description: `The error's \`code\` is ${codes.map((code) => `\`${code}\``).join(" or ")}.`,
    headers: { ...(early.has(status) ? called : cached), ...headersOfErrors[status] },
    content: json("Error"),
  },
];

/** Adds the fields of REST's own to a request. */
function withForm(request: Part, more: Part): Part {
  const { properties, ...rest } = request;
  return { ...rest, properties: { ...(properties as Part), ...more } };
}

/**
 * The document, OpenAPI 3.1.
 * @param image the contract, as `buf build` writes it
 */
export function openapiDocument(image: Uint8Array): object {
  const contract = new Contract(image);
  const requests: Record<string, Part> = {};
  for (const name of ["LLMRequest", "TextToImageRequest", "CreateTokenRequest"]) {
    addRequest(contract.message(name), requests);
  }
  const { LLMRequest = {}, TextToImageRequest = {} } = requests;
  return {
    openapi: "3.1.1",
    info: {
      title: "Lintel",
      version: version(),
      summary: "Chat completion and text-to-image behind one contract.",
      description:
        "Unknown fields of a request are ignored, and null counts as not set. The operator may change defaults. The paths of OpenAI's, Anthropic's and Google's clients are described by those; gRPC has reflection.",
      license: { name: "Apache 2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    tags: ["Chat", "Images", "Account", "Models", "Operations"].map((name) => ({ name })),
    paths: pathsOf(contract),
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      parameters,
      headers,
      responses: Object.fromEntries([...codesByStatus()].map(responseOf)),
      schemas: {
        ...requests,
        LLMRequest: withForm(LLMRequest, { ...stream, ...streamOptions }),
        TextToImageRequest: withForm(TextToImageRequest, stream),
        ...answerSchemas(contract),
      },
    },
  };
}
