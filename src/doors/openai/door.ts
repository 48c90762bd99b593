/** The contract in the form that OpenAI's clients speak. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { TextToImageResponse } from "../../../gen/lintel/v1/image_pb.js";
import { LintelError } from "../../core/errors.js";
import { apiKeyAsToken } from "../credential.js";
import type { Door } from "../door.js";
import { bodyOf, takeJson } from "../json/body.js";
import { wholeChat } from "../json/chat.js";
import { answerChat, answerCount } from "../json/chat-answer.js";
import { chunkEncoder } from "../json/chunks.js";
import { originOf } from "../json/origin.js";
import { areInParts, renamed } from "../json/rename.js";
import { sendWhole } from "../json/reply.js";
import { sendEvents } from "../json/sse.js";
import { modelForm } from "../model-forms.js";
import { chatFields, readChat } from "./chat-request.js";
import { inputsTo, withInputs } from "./custom-calls.js";
import { openaiImageEncoder } from "./image-events.js";
import { imageFields, readImage, wholeOpenAIImages } from "./image-request.js";
import { oneModel } from "./models.js";
import { inputTokens, responses } from "./responses/routes.js";

const listRequest = (id: string) => ({ $typeName: "lintel.v1.ListModelsRequest", id }) as const;

/**
 * `POST /v1/chat/completions`, `POST /v1/responses`, and `/input_tokens` below each,
 * `POST /v1/images/generations`, `GET /v1/models` and `/v1/models/{id}`.
 */
export const openai: Door = async (app, options) => {
  const { gateway, settings } = options;
  takeJson(app, options);
  responses(app, options);

  const readAsked = (request: FastifyRequest, reply: FastifyReply) => {
    const { json = {}, admission, defect } = bodyOf(request, chatFields);
    const read = readChat(json);
    const { message, form, warnings, names, customs } = read;
    const inParts = read.defect !== undefined || areInParts(message);
    const origin = originOf(request, reply, "openai", settings, {
      admission,
      defect: defect ?? read.defect,
    });
    const { stream, includeUsage } = form;
    return { message, stream, origin, names, inParts, warnings, includeUsage, customs };
  };

  app.post("/v1/chat/completions", (request, reply) => {
    // Not taken apart with a rest, which V8 copies in its runtime.
    const asked = readAsked(request, reply);
    const { message, warnings, includeUsage, customs } = asked;
    const chunks = { fullDelta: false, usage: includeUsage ? "extra" : "none" } as const;
    return answerChat(reply, options, asked, {
      whole: (response, all) => wholeChat(withInputs(response, customs), all),
      encoder: (running) =>
        inputsTo(chunkEncoder(chunks, running, message.model, warnings), customs),
    });
  });

  // As llama.cpp's server has it: OpenAI counts requests of its other API alone.
  app.post("/v1/chat/completions/input_tokens", (request, reply) =>
    answerCount(reply, options, readAsked(request, reply), inputTokens),
  );

  app.post("/v1/images/generations", (request, reply) => {
    const { json = {}, admission, defect } = bodyOf(request, imageFields);
    const { message, stream, partials, warnings, names, ...read } = readImage(json);
    const origin = originOf(request, reply, "openai", settings, {
      admission,
      defect: defect ?? read.defect,
    });
    // Who gets the images themselves is told no addresses.
    const { baseUrl } = message.includeData ? { baseUrl: null } : origin;
    const from = { ...origin, baseUrl };
    if (!stream) {
      const running = renamed(gateway.call("textToImage", message, from), names);
      const write = (response: TextToImageResponse) => wholeOpenAIImages(response, warnings);
      return sendWhole(reply, running, write, warnings);
    }
    const running = renamed(gateway.call("streamTextToImage", message, from), names);
    const encoder = openaiImageEncoder(partials, warnings);
    sendEvents(reply, running, encoder, settings, origin.signal, warnings);
    return undefined;
  });

  const list = (request: FastifyRequest, reply: FastifyReply, id = "") =>
    gateway.call("listModels", listRequest(id), originOf(request, reply, "openai", settings));

  // The lists of models are those of Anthropic's and Google's clients, too.
  const asOthers = { onRequest: apiKeyAsToken };

  app.get("/v1/models", asOthers, (request, reply) =>
    sendWhole(reply, list(request, reply), modelForm(request).list),
  );

  // A wildcard, since names of models may have slashes.
  app.get<{ Params: { "*": string } }>("/v1/models/*", asOthers, (request, reply) => {
    const id = request.params["*"];
    if (id === "") {
      throw new LintelError("not_found", "there is no GET /v1/models/ here, but GET /v1/models");
    }
    const { one } = modelForm(request);
    return sendWhole(reply, list(request, reply, id), (response) => oneModel(response, id, one));
  });
};
