/** Runs completions on one server. */
import type { LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../core/call.js";
import { chatDefaults } from "../../core/defaults.js";
import { LintelError } from "../../core/errors.js";
import { once } from "../../core/iterate.js";
import { traceHeaders } from "../../core/telemetry.js";
import { messageOf } from "../http/error-body.js";
import type { Answer } from "../http/exchange.js";
import { failureOf } from "../http/failure.js";
import type { Request, Transport } from "../http/transport.js";
import type { Address } from "./address.js";
import { readCompletion } from "./completion.js";
import type { Models } from "./models.js";
import { answerLimit, reading } from "./reading.js";
import { refusedField } from "./refusal.js";
import { type Optional, optionalFields, writeRequest } from "./request.js";

/** Most bytes that are read of an answer that reports an error. */
const errorLimit = 1024 * 1024;

/** What a completion needs. */
export interface Server {
  readonly transport: Transport;
  readonly address: Address;
  readonly models: Models;
  /** Most tokens of one completion. */
  readonly cap?: number | undefined;
}

type ChatCall = Call<"chat"> | Call<"complete">;

/** Streams a completion: a step for each read that brought text. */
export function chat(server: Server, call: Call<"chat">): AsyncIterable<readonly LLMResponse[]> {
  return reading(call.signal, {
    ask: () => ask(server, call, true),
    whole: readCompletion,
    take: (event, stream, out) => stream.push(event, out),
  });
}

/** Runs a completion to its end. */
export function complete(
  server: Server,
  call: Call<"complete">,
): AsyncIterable<readonly LLMResponse[]> {
  return once(async () => {
    const answer = await ask(server, call, false);
    return [readCompletion(await answer.text(answerLimit))];
  });
}

/**
 * Sends the request; where the server refuses an optional field, sends it again
 * without, and remembers once that has worked.
 */
async function ask(server: Server, call: ChatCall, stream: boolean): Promise<Answer> {
  const { address, models, cap } = server;
  const { request, signal, connectMs } = call;
  const path = address.at("/chat/completions");
  const own = traceHeaders(call);
  const learned: Optional[] = [];
  for (;;) {
    const known = models.refusedFor(request.model);
    const refused = learned.length === 0 ? known : new Set([...known, ...learned]);
    const body = writeRequest(request, { dialect: models.dialect, stream, refused, cap });
    const answer = await send(server, {
      method: "POST",
      path,
      body,
      headers: own,
      signal,
      connect: connectMs,
    });
    const { status, headers } = answer;
    if (status >= 200 && status < 300) {
      for (const field of learned) {
        models.refuse(request.model, field);
        warnDropped(call, field);
      }
      return answer;
    }
    const text = await answer.text(errorLimit);
    const field = refusedField(status, text, optionalFields);
    if (field && !refused.has(field)) {
      learned.push(field);
      continue;
    }
    call.log.warn({ id: call.id, status, said: messageOf(text) }, "the model server refused");
    throw failureOf(status, text, headers);
  }
}

/** Sends a request. A server that can't be reached is asked for its models soon. */
export async function send({ transport, models }: Server, request: Request): Promise<Answer> {
  try {
    return await transport.send(request);
  } catch (thrown) {
    if (thrown instanceof LintelError && thrown.code === "upstream_unreachable") models.doubt();
    throw thrown;
  }
}

/** A value that a caller set and that did not count; later calls are warned by the core. */
function warnDropped({ request, warnings }: ChatCall, field: Optional): void {
  const { temperature, topP, topK } = chatDefaults;
  const values: Readonly<Record<Optional, boolean>> = {
    stream_options: false,
    // It goes by its other name.
    max_tokens: false,
    temperature: (request.temperature ?? temperature) !== temperature,
    top_p: (request.topP ?? topP) !== topP,
    top_k: (request.topK ?? topK) !== topK,
    seed: (request.seed ?? -1n) >= 0n,
  };
  if (values[field]) warnings.push(`${field}: not supported by this model, ignored`);
}
