/** The contract over REST: JSON, and Server-Sent Events where `stream` is true. */
import { readFile } from "node:fs/promises";
import { LLMRequestSchema } from "../../../gen/lintel/v1/chat_pb.js";
import { TextToImageRequestSchema } from "../../../gen/lintel/v1/image_pb.js";
import { invalidIn } from "../../core/errors.js";
import type { Door } from "../door.js";
import { bodyOf, takeJson } from "../json/body.js";
import { wholeChat } from "../json/chat.js";
import { answerChat } from "../json/chat-answer.js";
import { chunkEncoder } from "../json/chunks.js";
import { compileDecoder } from "../json/decode.js";
import { answerForm, formFields } from "../json/fields.js";
import { fieldsOf } from "../json/known.js";
import { originOf } from "../json/origin.js";
import { areInParts } from "../json/rename.js";
import { sendWhole } from "../json/reply.js";
import { sendEvents } from "../json/sse.js";
import { accountRoutes } from "./account-routes.js";
import { imageEncoder, wholeImages } from "./images.js";
import { withBounds } from "./openapi/operator-bounds.js";

const decodeChat = compileDecoder(LLMRequestSchema);
const chatFields = fieldsOf(LLMRequestSchema, formFields);
const imageFields = fieldsOf(TextToImageRequestSchema, { stream: true });
const decodeImage = compileDecoder(TextToImageRequestSchema);

/** `POST /llm`, `POST /text-to-image`, `GET /account` and what is below it. */
export const rest: Door = async (app, options) => {
  const { gateway, settings } = options;
  takeJson(app, options);

  app.post("/llm", (request, reply) => {
    const { json = {}, defect, admission } = bodyOf(request, chatFields);
    const { message, violations } = decodeChat(json);
    const form = answerForm(json, violations);
    const wrong = defect ?? invalidIn(violations);
    const origin = originOf(request, reply, "rest", settings, { admission, defect: wrong });
    const { stream, includeUsage } = form;
    const inParts = wrong !== undefined || areInParts(message);
    const asked = { message, stream, origin, names: {}, inParts };
    const chunks = { fullDelta: true, usage: includeUsage ? "extra" : "every" } as const;
    return answerChat(reply, options, asked, {
      whole: wholeChat,
      encoder: (running) => chunkEncoder(chunks, running, message.model),
    });
  });

  app.post("/text-to-image", (request, reply) => {
    const { json = {}, defect, admission } = bodyOf(request, imageFields);
    const { message, violations } = decodeImage(json);
    const { stream } = answerForm({ stream: json.stream }, violations);
    const wrong = defect ?? invalidIn(violations);
    const origin = originOf(request, reply, "rest", settings, { admission, defect: wrong });
    // JSON answers refer to images by their address only.
    message.includeData = false;
    if (!stream) {
      return sendWhole(reply, gateway.call("textToImage", message, origin), wholeImages);
    }
    const running = gateway.call("streamTextToImage", message, origin);
    sendEvents(reply, running, imageEncoder(), settings, origin.signal);
    return undefined;
  });

  let described: Promise<string> | undefined;
  app.get("/openapi.json", async (_request, reply) => {
    described ??= readFile(new URL("../../../gen/openapi.json", import.meta.url), "utf8");
    const { bounds = {} } = settings;
    const document = await described;
    const moved = Object.keys(bounds).length > 0 ? withBounds(document, bounds) : document;
    return reply.type("application/json; charset=utf-8").send(moved);
  });

  accountRoutes(app, options);
};
