/** Has a server count the tokens of a prompt: llama.cpp's, vLLM, and others of this gateway. */
import type { CountTokensResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../core/call.js";
import { tokenCount } from "../../core/chat-messages.js";
import { once } from "../../core/iterate.js";
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { callHeaders } from "../call-headers.js";
import { answerLimit } from "../completions/reading.js";
import { jsonBody } from "../http/json-body.js";
import { errorBodyOf, refuses } from "../http/refused.js";
import { counting, countOf, countsNone, lacksCounting } from "../token-counts.js";
import type { Server } from "./chat.js";
import { requestFields } from "./request.js";

/** @throws LintelError `unimplemented` where the server counts none, or not this prompt */
export const countTokens = (
  server: Server,
  call: Call<"countTokens">,
): AsyncIterable<readonly CountTokensResponse[]> => once(async () => [await count(server, call)]);

async function count(
  { transport, address, models }: Server,
  call: Call<"countTokens">,
): Promise<CountTokensResponse> {
  const { request, signal } = call;
  const { dialect } = models;
  const refused = models.refusedFor(request.model);
  if (!dialect.counts || refused.has(counting)) throw countsNone();
  const fields = requestFields(request, { dialect, stream: false, refused });
  const ways = {
    input_tokens: { path: address.at("/chat/completions/input_tokens"), fields },
    // It says of each field that it does not know that it doesn't.
    tokenize: { path: address.beside("/tokenize"), fields: promptOf(fields) },
  };
  const { path, fields: asked } = ways[dialect.counts];
  const answer = await transport.send({
    method: "POST",
    path,
    body: jsonBody(asked),
    headers: callHeaders(call),
    signal,
  });
  if (refuses(answer)) {
    const body = answer.status === 404 ? await errorBodyOf(answer, signal) : "";
    answer.drain();
    if (lacksCounting(answer.status, parseJson(body))) models.refuse(request.model, counting);
    throw countsNone();
  }
  return tokenCount(...countIn(await answer.text(answerLimit)));
}

/** Of a request's fields those that the prompt is made of. */
function promptOf(fields: ReturnType<typeof requestFields>): JsonObject {
  const { model, messages, tools, chat_template_kwargs } = fields as JsonObject;
  return { model, messages, tools, chat_template_kwargs };
}

/** How many tokens an answer tells of, and whether these are an estimate, as another gateway may say. */
function countIn(text: string): [tokens: number, estimated: boolean] {
  const said = parseJson(text);
  if (isObject(said)) {
    const { input_tokens, count = input_tokens, estimated } = said;
    const tokens = countOf(count);
    if (tokens !== undefined) return [tokens, estimated === true];
  }
  throw countsNone();
}
