/** The Responses API, as far as nothing is kept for it. */
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { CountTokensResponse } from "../../../../gen/lintel/v1/chat_pb.js";
import { LintelError } from "../../../core/errors.js";
import type { DoorOptions } from "../../door.js";
import { bodyOf } from "../../json/body.js";
import { answerChat, answerCount } from "../../json/chat-answer.js";
import { originOf } from "../../json/origin.js";
import { inputsTo, withInputs } from "../custom-calls.js";
import { wholeResponse } from "./answer.js";
import { responseEncoder } from "./events.js";
import { readResponse, responseFields } from "./request.js";

/**
 * `POST /v1/responses` and `/v1/responses/input_tokens`; what asks for a response that was kept hears
 * that none is.
 * @param base of the paths, in the place of `/v1`
 * @param config of their routes
 */
export function responses(
  app: FastifyInstance,
  options: DoorOptions,
  base: string,
  config: FastifyContextConfig,
): void {
  const { settings } = options;
  const read = (request: FastifyRequest, reply: FastifyReply) => {
    const { json = {}, admission, defect } = bodyOf(request, responseFields);
    const asked = readResponse(json);
    const { message, stream, warnings, names, echo, customs } = asked;
    const origin = originOf(request, reply, "openai", settings, {
      admission,
      defect: defect ?? asked.defect,
    });
    return { message, stream, origin, names, warnings, echo, customs };
  };

  app.post(`${base}/responses`, { config }, (request, reply) => {
    const asked = read(request, reply);
    const { message, warnings, echo, customs } = asked;
    // Codex has it, and what is made of it: to them a comment is silence, after five minutes of which they give up.
    const beats = request.headers.originator !== undefined;
    return answerChat(reply, options, asked, {
      whole: (response, all) => wholeResponse(withInputs(response, customs), echo, all),
      encoder: (running) =>
        inputsTo(responseEncoder(running, message.model, echo, warnings, beats), customs),
    });
  });

  app.post(`${base}/responses/input_tokens`, { config }, (request, reply) =>
    answerCount(reply, options, read(request, reply), inputTokens),
  );

  app.route({
    method: ["GET", "POST", "DELETE"],
    url: `${base}/responses/*`,
    config: { ...config, absent: true },
    handler: nothingKept,
  });
}

function nothingKept(): never {
  const why =
    "nothing is kept here, there are only POST /v1/responses and /v1/responses/input_tokens, with the whole conversation";
  throw new LintelError("not_found", why);
}

/** A number of tokens, as OpenAI tells it. Its clients pass over what they don't know. */
export const inputTokens = ({ promptTokens, estimated }: CountTokensResponse) => ({
  object: "response.input_tokens",
  input_tokens: promptTokens,
  ...(estimated && { estimated }),
});
