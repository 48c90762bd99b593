/** Google's Gemini API, which its SDKs and the Gemini CLI speak, as far as nothing is kept for it. */
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from "fastify";
import type { CountTokensResponse } from "../../../gen/lintel/v1/chat_pb.js";
import { LintelError } from "../../core/errors.js";
import { apiKeyAsToken } from "../credential.js";
import type { Door } from "../door.js";
import { bodyOf, takeJson } from "../json/body.js";
import { answerChat, answerCount } from "../json/chat-answer.js";
import { originOf } from "../json/origin.js";
import { sendWhole } from "../json/reply.js";
import { oneModel } from "../openai/models.js";
import { wholeGenerated } from "./answer.js";
import { generateError } from "./error.js";
import { generateEncoder } from "./events.js";
import { googleList, googleModel, methods } from "./models.js";
import { countFields, generateFields, readCount, readGenerate } from "./request.js";

/** Newer clients ask at the first one, where the lists are of all clients, others at the second, or what is told for previews. */
const bases = ["/v1/models", "/v1beta/models", "/v1alpha/models"] as const;
const [, base, preview] = bases;

interface Asked {
  readonly Params: { readonly "*": string };
  readonly Querystring: { readonly alt?: unknown };
}

/**
 * `POST /v1/models/{model}:generateContent`, `:streamGenerateContent` and `:countTokens`, and the same at `/v1beta` and
 * `/v1alpha`; `GET /v1beta/models` and `/v1beta/models/{model}`, and at `/v1alpha`, which are at `/v1` by OpenAI's door.
 */
export const google: Door = async (app, options) => {
  const { gateway, settings } = options;
  takeJson(app, options);
  app.addHook("onRequest", apiKeyAsToken);
  const config = { errorForm: generateError };

  const generate = (request: FastifyRequest<Asked>, reply: FastifyReply) => {
    const [, name = "", method = ""] = /^(.*):([^:]*)$/s.exec(request.params["*"]) ?? [];
    if (!methods.includes(method)) throw noMethod();
    const counts = method === "countTokens";
    const { json = {}, admission, defect } = bodyOf(request, counts ? countFields : generateFields);
    const { message, warnings, names, ...read } = (counts ? readCount : readGenerate)(json, name);
    const origin = originOf(request, reply, "google", settings, {
      admission,
      defect: defect ?? read.defect,
      // What was written for Google's models may ask for as much as those can.
      cutsTokens: true,
    });
    const streams = method === "streamGenerateContent";
    // Without it a stream is a list: it comes at once, with all that was said in one.
    const stream = streams && request.query.alt === "sse";
    const asked = { message, stream, origin, names, warnings };
    if (counts) return answerCount(reply, options, asked, totalTokens);
    return answerChat(reply, options, asked, {
      whole: (response, all) =>
        streams ? `[${wholeGenerated(response, all)}]` : wholeGenerated(response, all),
      encoder: (running) => generateEncoder(running, message.model, warnings),
    });
  };
  // A wildcard, since names of models may have slashes, and colons ahead of the method's.
  for (const at of bases) {
    app.post<Asked>(`${at}/*`, { config }, generate as RouteHandlerMethod);
  }

  const list = (request: FastifyRequest, reply: FastifyReply, id = "") =>
    gateway.call(
      "listModels",
      { $typeName: "lintel.v1.ListModelsRequest", id },
      originOf(request, reply, "google", settings),
    );

  const all = (request: FastifyRequest, reply: FastifyReply) =>
    sendWhole(reply, list(request, reply), googleList);
  const one = (request: FastifyRequest<Asked>, reply: FastifyReply) => {
    const id = request.params["*"];
    if (id === "") throw noMethod();
    return sendWhole(reply, list(request, reply, id), (response) =>
      oneModel(response, id, googleModel),
    );
  };
  for (const at of [base, preview]) {
    app.get(at, { config }, all);
    app.get<Asked>(`${at}/*`, { config }, one as RouteHandlerMethod);
  }
};

function noMethod(): LintelError {
  const why = `there are POST ${bases[0]}/{model}:generateContent, :streamGenerateContent and :countTokens, and GET ${bases[0]} and ${bases[0]}/{model}, and the same at ${base}; nothing is embedded or kept here`;
  return new LintelError("not_found", why);
}

const totalTokens = ({ promptTokens }: CountTokensResponse) => ({ totalTokens: promptTokens });
