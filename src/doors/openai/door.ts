/** The contract in the form that OpenAI's clients speak. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { TextToImageResponse } from "../../../gen/lintel/v1/image_pb.js";
import { LintelError } from "../../core/errors.js";
import type { Running } from "../../core/gateway.js";
import { withMembers } from "../../core/json.js";
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
import { choicesEncoder } from "./choices.js";
import { inputsTo, withInputs } from "./custom-calls.js";
import { openaiImageEncoder } from "./image-events.js";
import { imageFields, readImage, wholeOpenAIImages } from "./image-request.js";
import { oneModel } from "./models.js";
import { isOpenRouters } from "./open-router.js";
import { inputTokens, responses } from "./responses/routes.js";
import { wantsWholeCalls, wholeCallsTo } from "./whole-calls.js";

const listRequest = (id: string) => ({ $typeName: "lintel.v1.ListModelsRequest", id }) as const;

/** Where the paths are, and where Azure's clients ask: with versions of its API in `api-version`, which say nothing here, or without. */
const bases = ["/v1", "/openai/v1", "/openai"] as const;

/** What Azure's clients ask of a deployment, which is a model's name here. */
const deployments = "/openai/deployments";

interface Deployed {
  readonly Params: { readonly "*": string };
}

/**
 * `POST /v1/chat/completions`, `POST /v1/responses`, and `/input_tokens` below each,
 * `POST /v1/images/generations`, `GET /v1/models` and `/v1/models/{id}`; all of them also at `/openai/v1` and `/openai`,
 * and chat and images at `/openai/deployments/{model}`.
 */
export const openai: Door = async (app, options) => {
  const { gateway, settings } = options;
  takeJson(app, options);
  // The lists of models are those of Anthropic's and Google's clients, too.
  app.addHook("onRequest", apiKeyAsToken);

  /** @param model what it is of, whatever its body says; absent: as the body says */
  const readAsked = (request: FastifyRequest, reply: FastifyReply, model?: string) => {
    const { json = {}, admission, defect } = bodyOf(request, chatFields);
    const read = readChat(model === undefined ? json : withMembers(json, { model }));
    const { message, form, warnings, names, customs } = read;
    const inParts = read.defect !== undefined || areInParts(message);
    const origin = originOf(request, reply, "openai", settings, {
      admission,
      defect: defect ?? read.defect,
    });
    const { stream, includeUsage } = form;
    return {
      message,
      stream,
      origin,
      names,
      inParts,
      warnings,
      includeUsage,
      customs,
      asOpenRouter: read.asOpenRouter || isOpenRouters(request.headers),
      count: read.count,
    };
  };

  const complete = (request: FastifyRequest, reply: FastifyReply, model?: string) => {
    // Not taken apart with a rest, which V8 copies in its runtime.
    const asked = readAsked(request, reply, model);
    const { message, warnings, includeUsage, customs, asOpenRouter, count } = asked;
    const usage = includeUsage ? "extra" : "none";
    const wholeCalls = wantsWholeCalls(request.headers);
    const encoderOf = (running: Running<"chat">, index: number) => {
      const form = { fullDelta: false, usage, alsoReasoning: asOpenRouter, index } as const;
      const encoder = inputsTo(chunkEncoder(form, running, message.model, warnings), customs);
      return wholeCalls ? wholeCallsTo(encoder) : encoder;
    };
    return answerChat(reply, options, asked, {
      whole: (response, all) => wholeChat(withInputs(response, customs), all, asOpenRouter),
      encoder: (running) =>
        count === 1
          ? encoderOf(running, 0)
          : choicesEncoder(count, (index) => encoderOf(running, index)),
    });
  };

  const draw = (request: FastifyRequest, reply: FastifyReply, model?: string) => {
    const { json = {}, admission, defect } = bodyOf(request, imageFields);
    const asked = model === undefined ? json : withMembers(json, { model });
    const { message, stream, partials, warnings, names, ...read } = readImage(asked);
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
  };

  const list = (request: FastifyRequest, reply: FastifyReply, id = "") =>
    gateway.call("listModels", listRequest(id), originOf(request, reply, "openai", settings));

  for (const base of bases) {
    const config = { alias: base !== "/v1" };
    responses(app, options, base, config);
    app.post(`${base}/chat/completions`, { config }, (request, reply) => complete(request, reply));
    // As llama.cpp's server has it: OpenAI counts requests of its other API alone.
    app.post(`${base}/chat/completions/input_tokens`, { config }, (request, reply) =>
      answerCount(reply, options, readAsked(request, reply), inputTokens),
    );
    app.post(`${base}/images/generations`, { config }, (request, reply) => draw(request, reply));
    app.get(`${base}/models`, { config }, (request, reply) =>
      sendWhole(reply, list(request, reply), modelForm(request).list),
    );
    // A wildcard, since names of models may have slashes.
    app.get<Deployed>(`${base}/models/*`, { config }, (request, reply) => {
      const id = request.params["*"];
      if (id === "") {
        const why = `there is no GET ${base}/models/ here, but GET ${base}/models`;
        throw new LintelError("not_found", why);
      }
      const { one } = modelForm(request);
      return sendWhole(reply, list(request, reply, id), (response) => oneModel(response, id, one));
    });
  }

  app.post<Deployed>(`${deployments}/*`, (request, reply) => {
    const [, name = "", asked] =
      /^(.*?)\/(chat\/completions|images\/generations)$/s.exec(request.params["*"]) ?? [];
    if (asked === undefined) throw notOfDeployments();
    return asked === "chat/completions"
      ? complete(request, reply, name)
      : draw(request, reply, name);
  });
};

function notOfDeployments(): LintelError {
  const at = `${deployments}/{model}`;
  const why = `there are POST ${at}/chat/completions and ${at}/images/generations; nothing is embedded, spoken or edited here`;
  return new LintelError("not_found", why);
}
