/** Anthropic's Messages API, which its SDKs and Claude Code speak, as far as nothing is kept for it. */
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from "fastify";
import { LintelError } from "../../core/errors.js";
import { isJson } from "../../core/text-forms.js";
import { apiKeyAsToken } from "../credential.js";
import type { Door } from "../door.js";
import { bodyOf, takeJson } from "../json/body.js";
import { type AskedChat, answerChat, answerCount, type ChatForm } from "../json/chat-answer.js";
import { originOf } from "../json/origin.js";
import { hasImages, wholeMessage, withoutImages } from "./answer.js";
import { messagesError } from "./error.js";
import { messageEncoder } from "./events.js";
import { messagesFields, readMessages } from "./request.js";

interface AskedMessage extends AskedChat {
  readonly warnings: readonly string[];
  readonly hidesThoughts: boolean;
}

/** `POST /v1/messages` and `/v1/messages/count_tokens`; of all else below them there is nothing. */
export const anthropic: Door = async (app, options) => {
  const { settings } = options;
  takeJson(app, options);
  app.addHook("onRequest", apiKeyAsToken);
  app.addHook("onRequest", (request, reply, done) => {
    // Where its clients look for it.
    reply.header("request-id", request.id);
    done();
  });

  const read = (request: FastifyRequest, reply: FastifyReply): AskedMessage => {
    const { json = {}, admission, defect } = bodyOf(request, messagesFields);
    const asked = readMessages(json);
    const { message, stream, warnings, names, hidesThoughts } = asked;
    const origin = originOf(request, reply, "anthropic", settings, {
      admission,
      defect: defect ?? asked.defect,
      // Every request has one: the most that the client can take, whatever the model.
      cutsTokens: true,
    });
    return { message, stream, origin, names, warnings, hidesThoughts };
  };

  const answer = (request: FastifyRequest, reply: FastifyReply) => {
    const asked = read(request, reply);
    const { hidesThoughts, message } = asked;
    // Those of a whole answer are told in the header, too.
    const notes = [...asked.warnings];
    const form: ChatForm = {
      whole(response, warnings) {
        if (!hasImages(response)) return wholeMessage(response, warnings, hidesThoughts);
        notes.push(withoutImages);
        return wholeMessage(response, [...warnings, withoutImages], hidesThoughts);
      },
      encoder: (running) =>
        messageEncoder(running, message.model, asked.warnings, hidesThoughts, isJson(message)),
    };
    return answerChat(reply, options, { ...asked, warnings: notes }, form);
  };

  const count = (request: FastifyRequest, reply: FastifyReply) =>
    answerCount(reply, options, read(request, reply), ({ promptTokens }) => ({
      input_tokens: promptTokens,
    }));

  const config = { errorForm: messagesError };
  app.post("/v1/messages", { config }, answer as RouteHandlerMethod);
  app.post("/v1/messages/count_tokens", { config }, count);
  app.route({
    method: ["GET", "POST", "DELETE"],
    url: "/v1/messages/*",
    config: { ...config, absent: true },
    handler: nothingElse,
  });
};

function nothingElse(): never {
  const why =
    "no batches are kept here, there are only POST /v1/messages and /v1/messages/count_tokens";
  throw new LintelError("not_found", why);
}
