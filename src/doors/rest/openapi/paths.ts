/** The paths of REST, as an OpenAPI document has them. */
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { http } from "../../../../gen/google/api/annotations_pb.js";
import { type Contract, commentOf, fieldOf } from "./contract.js";
import { answered, cached, called, type parameters } from "./headers.js";
import { fieldForm } from "./requests.js";
import { type Part, refer, text } from "./schema.js";

/** A body in JSON. @param name of its schema */
export const json = (name: string): Part => ({ "application/json": { schema: refer(name) } });

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

/** So that generators of clients take it for bytes, which they do by this word of OpenAPI 3.0. */
const png = { "image/png": { schema: { type: "string", format: "binary" } } };

const failures = (...statuses: number[]) =>
  Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/Error${status}` }]),
  );

const always = [401, 408, 500, 503, 504];
const ofModels = [400, 403, 404, 413, 415, 422, 429, 501, 502];

const parametersOf = (...names: (keyof typeof parameters)[]) =>
  names.map((name) => ({ $ref: `#/components/parameters/${name}` }));

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

/** How a method answers. */
interface Answers {
  readonly summary: string;
  readonly whole: { readonly description: string; readonly schema: string };
  readonly event: { readonly schema: string; readonly failure: string };
  /** Whether its answers may be kept. */
  readonly kept?: boolean;
}

/** A method that reaches a model, and answers whole or in events. */
const answering = (method: DescMethod, tag: string, { summary, whole, event, kept }: Answers) =>
  operation(method, tag, {
    summary,
    parameters: [
      ...parametersOf("RequestId", "Timeout", "IdempotencyKey"),
      ...(kept ? parametersOf("CacheControl") : []),
    ],
    requestBody: { required: true, content: json(method.input.name) },
    responses: {
      200: {
        description: whole.description,
        headers: kept ? cached : answered,
        content: { ...json(whole.schema), ...events(event.schema, event.failure) },
      },
      ...failures(...always, ...ofModels),
    },
  });

/** What is read at a path that no method of the contract has. */
const reading = (path: string, operationId: string, tag: string, more: Part) =>
  [path, { get: { operationId, tags: [tag], ...more } }] as const;

/** What needs no token. */
const open = { security: [] };

/** All of them, but for those of other APIs' clients. */
export function pathsOf(contract: Contract): Part {
  const complete = contract.method("ChatService", "Complete");
  const image = contract.method("TextToImageService", "TextToImage");
  const account = contract.method("AccountService", "GetAccount");
  const user = fieldOf(account.input, "user");
  const health = { description: "It does.", content: json("Health") };
  const all: (readonly [string, Part])[] = [
    answering(complete, "Chat", {
      summary: "Answers a conversation, whole or as events.",
      whole: { description: "The completion.", schema: "Completion" },
      event: { schema: "CompletionChunk", failure: "A failure is a chunk with an `error`." },
      kept: true,
    }),
    answering(image, "Images", {
      summary: "Makes images, and tells of their progress in events.",
      whole: { description: "The images.", schema: "Images" },
      event: { schema: "ImageEvent", failure: "A failure is an event of the type `error`." },
    }),
    operation(account, "Account", {
      parameters: [
        {
          ...{ name: "user", in: "query", description: commentOf(user) },
          schema: fieldForm(user),
        },
      ],
      responses: {
        200: { description: "The account.", headers: called, content: json("Account") },
        ...failures(...always, 422),
      },
    }),
    ...tokenPaths(contract),
    reading("/v1/models", "ListModels", "Models", {
      summary: "Lists the models that the token may use, as OpenAI does.",
      responses: {
        200: { description: "The models.", headers: called, content: json("Models") },
        ...failures(...always),
      },
    }),
    reading("/media/{name}", "GetImage", "Images", {
      ...open,
      summary:
        "Reads an image, by the address that an answer has, where the gateway keeps images itself.",
      description: "`Range`, `If-Range` and `If-None-Match` work, and so does HEAD.",
      parameters: [{ name: "name", in: "path", required: true, schema: text }],
      responses: {
        200: { description: "The image.", headers: called, content: png },
        206: { description: "The part of it that `Range` asks for.", content: png },
        304: { description: "It is the one that `If-None-Match` has." },
        ...failures(404, 416, 500, 503),
      },
    }),
    reading("/healthz", "GetHealth", "Operations", {
      ...open,
      summary: "Tells that the process lives.",
      responses: { 200: health },
    }),
    reading("/readyz", "GetReadiness", "Operations", {
      ...open,
      summary: "Tells whether the process takes calls.",
      responses: {
        200: health,
        503: { description: "It is about to leave.", content: json("Health") },
      },
    }),
  ];
  const paths: Record<string, Part> = {};
  // A path may take several methods.
  for (const [path, methods] of all) paths[path] = { ...paths[path], ...methods };
  return paths;
}

/** The tokens that callers make for themselves. */
function tokenPaths(contract: Contract): (readonly [string, Part])[] {
  const method = (name: string) => contract.method("TokensService", name);
  const token = fieldOf(method("RevokeToken").input, "token");
  const named = { name: "token", in: "path", required: true, description: commentOf(token) };
  const answers = (description: string, schema: string, ...refused: number[]) => ({
    responses: {
      200: { description, headers: called, content: json(schema) },
      ...failures(...always, 403, ...refused),
    },
  });
  return [
    operation(method("CreateToken"), "Account", {
      requestBody: { required: true, content: json("CreateTokenRequest") },
      ...answers("The token.", "MadeToken", 400, 409, 413, 415, 422),
    }),
    operation(method("ListTokens"), "Account", answers("The tokens.", "Tokens")),
    operation(method("RevokeToken"), "Account", {
      parameters: [{ ...named, schema: fieldForm(token) }],
      ...answers("The token that was ended.", "EndedToken", 404, 422),
    }),
  ];
}
