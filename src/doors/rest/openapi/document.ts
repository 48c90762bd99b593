/** The REST contract as an OpenAPI document: made when code is generated, from the proto and the tables of the code. */
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { http } from "../../../../gen/google/api/annotations_pb.js";
import { version } from "../../../version.js";
import { answerSchemas, codesByStatus } from "./answers.js";
import { Contract, commentOf, type Part } from "./contract.js";
import { addRequest, refer } from "./requests.js";

const json = (name: string): Part => ({ "application/json": { schema: refer(name) } });

/** OpenAPI 3.1 has no words for streams of events: 3.2 has `itemSchema`. */
const events = (name: string, last: string): Part => ({
  "text/event-stream": {
    schema: {
      type: "string",
      description: `Server-Sent Events, where \`stream\` is true. The data of each is a ${name} in JSON, of the last one \`[DONE]\`. ${last}`,
    },
    "x-itemSchema": refer(name),
  },
});

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

/** So that generators of clients take it for bytes, which they do by this word of OpenAPI 3.0. */
const png = { "image/png": { schema: { type: "string", format: "binary" } } };

const text: Part = { type: "string" };
const header = (name: string, description: string, schema: Part): Part => ({
  ...{ name, in: "header", description, schema },
});

const parameters = {
  RequestId: header("x-request-id", "The request's id in logs and answers. Default: a new one.", {
    ...{ type: "string", pattern: "^[A-Za-z0-9_.:-]{1,128}$" },
  }),
  Timeout: header("x-request-timeout-ms", "How long the answer may take, milliseconds.", {
    ...{ type: "integer", minimum: 1 },
  }),
  IdempotencyKey: header(
    "idempotency-key",
    "A call that is repeated with it is not made twice: it gets the answer of the first.",
    { type: "string", pattern: "^[!-~]{1,255}$" },
  ),
};

const headers = {
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
const headerOf = (name: keyof typeof headers): Part => ({ $ref: `#/components/headers/${name}` });
const called = { "x-request-id": headerOf("RequestId") };
const answered = {
  ...called,
  "x-lintel-warnings": headerOf("Warnings"),
  "x-lintel-attempts": headerOf("Attempts"),
};

/** Statuses with which it can be worth to ask again, and which say when. */
const later: ReadonlySet<number> = new Set([429, 503]);

const responseOf = ([status, codes]: readonly [number, readonly string[]]) => [
  `Error${status}`,
  {
    description: `The error's \`code\` is ${codes.map((code) => `\`${code}\``).join(" or ")}.`,
    headers: { ...called, ...(later.has(status) && { "retry-after": headerOf("RetryAfter") }) },
    content: json("Error"),
  },
];

const failures = (...statuses: number[]) =>
  Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/Error${status}` }]),
  );

const always = [401, 408, 500, 503, 504];
const ofModels = [400, 403, 404, 413, 415, 422, 429, 501, 502];

/** Parameters of all that reach a model. */
const sent = Object.keys(parameters).map((name) => ({ $ref: `#/components/parameters/${name}` }));

/** A method of the contract at its path. @param more what REST adds to it */
function operation(method: DescMethod, tag: string, more: Part): readonly [string, Part] {
  const { pattern } = getOption(method, http);
  const [summary = "", ...rest] = commentOf(method).split(/(?<=\.) /);
  return [
    String(pattern.value),
    {
      [String(pattern.case)]: {
        ...{ operationId: method.name, tags: [tag], summary },
        ...(rest.length > 0 && { description: rest.join(" ") }),
        ...more,
      },
    },
  ];
}

const asked = (name: string) => ({
  parameters: sent,
  requestBody: { required: true, content: json(name) },
});

/** What needs no token. */
const open = { security: [] };

function pathsOf(contract: Contract): Part {
  const complete = contract.method("ChatService", "Complete");
  const image = contract.method("TextToImageService", "TextToImage");
  const account = contract.method("AccountService", "GetAccount");
  const health = { description: "It does.", content: json("Health") };
  return Object.fromEntries([
    operation(complete, "Chat", {
      summary: "Answers a conversation, whole or as events.",
      ...asked(complete.input.name),
      responses: {
        200: {
          description: "The completion.",
          headers: answered,
          content: {
            ...json("Completion"),
            ...events("CompletionChunk", "A failure is a chunk with an `error`."),
          },
        },
        ...failures(...always, ...ofModels),
      },
    }),
    operation(image, "Images", {
      summary: "Makes images, and tells of their progress in events.",
      ...asked(image.input.name),
      responses: {
        200: {
          description: "The images.",
          headers: answered,
          content: {
            ...json("Images"),
            ...events("ImageEvent", "A failure is an event of the type `error`."),
          },
        },
        ...failures(...always, ...ofModels),
      },
    }),
    operation(account, "Account", {
      parameters: [
        {
          ...{
            name: "user",
            in: "query",
            description: commentOf(account.input.fields[0] as never),
          },
          schema: { type: "string", maxLength: 256 },
        },
      ],
      responses: {
        200: { description: "The account.", headers: called, content: json("Account") },
        ...failures(...always, 422),
      },
    }),
    [
      "/v1/models",
      {
        get: {
          ...{ operationId: "ListModels", tags: ["Models"] },
          summary: "Lists the models that the token may use, as OpenAI does.",
          responses: {
            200: { description: "The models.", headers: called, content: json("Models") },
            ...failures(...always),
          },
        },
      },
    ],
    [
      "/media/{name}",
      {
        get: {
          ...{ operationId: "GetImage", tags: ["Images"], ...open },
          summary:
            "Reads an image, by the address that an answer has, where the gateway keeps images itself.",
          description: "`Range`, `If-Range` and `If-None-Match` work, and so does HEAD.",
          parameters: [{ name: "name", in: "path", required: true, schema: text }],
          responses: {
            200: { description: "The image.", headers: called, content: png },
            206: {
              description: "The part of it that `Range` asks for.",
              content: png,
            },
            304: { description: "It is the one that `If-None-Match` has." },
            ...failures(404, 416, 500, 503),
          },
        },
      },
    ],
    [
      "/healthz",
      {
        get: {
          ...{ operationId: "GetHealth", tags: ["Operations"], ...open },
          summary: "Tells that the process lives.",
          responses: { 200: health },
        },
      },
    ],
    [
      "/readyz",
      {
        get: {
          ...{ operationId: "GetReadiness", tags: ["Operations"], ...open },
          summary: "Tells whether the process takes calls.",
          responses: {
            200: health,
            503: { description: "It is about to leave.", content: json("Health") },
          },
        },
      },
    ],
  ]);
}

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
  for (const name of ["LLMRequest", "TextToImageRequest"]) {
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
        "Unknown fields of a request are ignored, and null counts as not set. The operator may move bounds and defaults. The paths of OpenAI's, Anthropic's and Google's clients are described by those; gRPC has reflection.",
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
