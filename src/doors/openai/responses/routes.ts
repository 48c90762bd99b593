/** The Responses API, as far as nothing is kept for it. */
import type { FastifyInstance } from "fastify";
import { LintelError } from "../../../core/errors.js";
import type { DoorOptions } from "../../door.js";
import { bodyOf } from "../../json/body.js";
import { answerChat } from "../../json/chat-answer.js";
import { originOf } from "../../json/origin.js";
import { wholeResponse } from "./answer.js";
import { responseEncoder } from "./events.js";
import { readResponse, responseFields } from "./request.js";

/** `POST /v1/responses`; what asks for a response that was kept hears that none is. */
export function responses(app: FastifyInstance, options: DoorOptions): void {
  const { settings } = options;
  app.post("/v1/responses", (request, reply) => {
    const { json = {}, admission, defect } = bodyOf(request, responseFields);
    const { message, stream, warnings, names, echo, ...read } = readResponse(json);
    const origin = originOf(request, reply, "openai", settings, {
      admission,
      defect: defect ?? read.defect,
    });
    const asked = { message, stream, origin, names, warnings };
    return answerChat(reply, options, asked, {
      whole: (response, all) => wholeResponse(response, echo, all),
      encoder: (running) => responseEncoder(running, message.model, echo, warnings),
    });
  });

  app.route({ method: ["GET", "POST", "DELETE"], url: "/v1/responses/*", handler: nothingKept });
}

function nothingKept(): never {
  const why = "nothing is kept here, there is only POST /v1/responses with the whole conversation";
  throw new LintelError("not_found", why);
}
