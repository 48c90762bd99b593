/** Runs completions on one server. */

import type { LLMRequest, LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../core/call.js";
import { LintelError } from "../../core/errors.js";
import { once } from "../../core/iterate.js";
import type { BackendMethod } from "../../core/methods.js";
import { onlyOffersTools, withoutCalls } from "../../core/tool-calls.js";
import { notSupported } from "../../core/warnings.js";
import { promptCacheKey, toldCacheKey } from "../cache-key.js";
import { callHeaders } from "../call-headers.js";
import { callIds, hasOtherIds } from "../call-ids.js";
import { collectCompletion } from "../completions/collected.js";
import { readCompletion } from "../completions/completion.js";
import { tools } from "../completions/fields.js";
import { answerLimit, type Dialogue, reading } from "../completions/reading.js";
import {
  type Attempt,
  askWithout,
  chosenForChat,
  optionalFields,
  type Question,
} from "../completions/refusals/asking.js";
import { beyondContext } from "../completions/refusals/beyond-context.js";
import {
  blankMessages,
  hasNullContent,
  nullContent,
  withoutBlank,
} from "../completions/refusals/blank.js";
import { conversationFor, conversationToRefuse } from "../completions/refusals/conversation.js";
import { extraContents, hasExtras } from "../completions/refusals/extra-content.js";
import {
  logprobsBesideTools,
  logprobsToRefuse,
  tellsBesideTools,
} from "../completions/refusals/logprobs.js";
import { streams, wholeAnswers } from "../completions/refusals/one-form.js";
import { aboutNeeded } from "../completions/refusals/refusal.js";
import { samplingToRefuse } from "../completions/refusals/sampling.js";
import {
  keywordsToRefuse,
  keywordWarnings,
  withToldSchemas,
} from "../completions/refusals/schema-keywords.js";
import { restoreNames, toolNamesToRefuse } from "../completions/refusals/tool-names.js";
import { isStrict, strictness, toolSchemasToRefuse } from "../completions/refusals/tool-schemas.js";
import { endUser } from "../completions/refusals/words.js";
import { type ThinkTags, tagged, untagged } from "../completions/tagged.js";
import {
  effort,
  thinkingBesideTools,
  thinksBesideTools,
  thoughtsToRefuse,
} from "../completions/thoughts.js";
import { longestOfOpenai, type PassUser, toldUser } from "../end-user.js";
import type { Answer } from "../http/answer.js";
import { type Refused, readRefused, refuses } from "../http/refused.js";
import type { Request, Transport } from "../http/transport.js";
import type { Address } from "./address.js";
import type { Models } from "./models.js";
import { writeRequest } from "./request.js";

/** What a completion needs. */
export interface Server {
  readonly transport: Transport;
  readonly address: Address;
  readonly models: Models;
  /** Most tokens of one completion. */
  readonly cap?: number | undefined;
  /** Whether its texts may begin with thoughts. */
  readonly tags: ThinkTags;
  /** Whether it is told whom calls are for. */
  readonly passUser: PassUser;
  /** Where it, or a router before it, is told which calls belong together; absent: as its dialect has it. */
  readonly sessionHeader?: string | undefined;
}

type ChatCall = Call<"chat"> | Call<"complete">;

/** What a request can go without, by whether the caller gets a stream. */
const streamed = [...optionalFields, beyondContext, streams] as const;
const whole = [...optionalFields, beyondContext, wholeAnswers] as const;

/** Streams completions: a step for each read that brought text. */
export function chatOn(server: Server) {
  const dialogue: Dialogue = {
    ask: (call) => ask(server, call, true),
    again: (call, refused) => ask(server, call, true, refused),
    whole: (text, { request }) => {
      const whole = untagged(readCompletion(text), tagged(server.tags, request));
      restoreNames([whole], request, server.models.refusedFor(request.model));
      return whole;
    },
    tagged: ({ request }) => tagged(server.tags, request),
    take(event, stream, out, { request }) {
      stream.push(event, out);
      restoreNames(out, request, server.models.refusedFor(request.model));
    },
  };
  return (call: Call<"chat">) => reading(call, dialogue);
}

/** Runs a completion to its end. */
export function complete(
  server: Server,
  call: Call<"complete">,
): AsyncIterable<readonly LLMResponse[]> {
  return once(async () => {
    const answer = await ask(server, call, false);
    const text = await answer.text(answerLimit);
    const { request } = call;
    const whole = collectCompletion(text, tagged(server.tags, request));
    restoreNames([whole], request, server.models.refusedFor(request.model));
    return [whole];
  });
}

/** What a request can go without. */
function fieldsOf(
  call: ChatCall,
  stream: boolean,
  user: string | undefined,
  cacheKey: string | undefined,
  refused: ReadonlySet<string>,
): readonly string[] {
  const { request } = call;
  const fields = stream ? streamed : whole;
  const offers = onlyOffersTools(request);
  // Without its calls a message may say nothing.
  const told = offers ? withoutCalls(request.messages) : request.messages;
  const sent = conversationFor(request.messages, refused);
  const more = [
    ...samplingToRefuse(request, refused),
    ...toolNamesToRefuse(request, refused),
    ...(withoutBlank(told).length < told.length ? [blankMessages] : []),
    ...(offers ? [tools] : []),
    ...(hasOtherIds(request.messages) ? [callIds] : []),
    ...(user === undefined ? [] : [endUser]),
    ...(cacheKey === undefined ? [] : [promptCacheKey]),
    ...thoughtsToRefuse(request),
    ...(hasExtras(request.messages) ? [extraContents] : []),
    ...(thinksBesideTools(request) ? [thinkingBesideTools] : []),
    ...conversationToRefuse(sent),
    ...toolSchemasToRefuse(request).filter((field) => !refused.has(field)),
    ...(hasNullContent(sent) && !refused.has(nullContent) ? [nullContent] : []),
    ...logprobsToRefuse(call, stream),
  ];
  return more.length === 0 ? fields : [...fields, ...more];
}

/** Whether a server has to be asked for a whole answer, of which the caller's stream is made. */
const isWhole = (request: LLMRequest, refused: ReadonlySet<string>): boolean =>
  refused.has(streams) || (refused.has(logprobsBesideTools) && tellsBesideTools(request));

const noThoughtsBesideTools = `${effort}: not supported by this model beside tools, ignored`;

/** Sends the request, without what the server refuses. */
function ask(server: Server, call: ChatCall, stream: boolean, refused?: Refused): Promise<Answer> {
  const { address, models, cap } = server;
  const { request, signal, connectMs } = call;
  const user = toldUser(request.user, server.passUser, longestOfOpenai);
  const { keyField, keyHeader } = models.dialect;
  const header = server.sessionHeader ?? keyHeader;
  const told = keyField || header !== undefined ? toldCacheKey(call) : undefined;
  const cacheKey = keyField ? told : undefined;
  const path = address.at("/chat/completions");
  const headers =
    told === undefined || header === undefined
      ? callHeaders(call)
      : { [header]: told, ...callHeaders(call) };
  const learn = (field: string) => models.refuse(request.model, field);
  const question: Question<Answer, string> = {
    fields: (refused) => fieldsOf(call, stream, user, cacheKey, refused),
    named: (words, refused) => keywordsToRefuse(words, withToldSchemas(request, refused), refused),
    known: () => models.refusedFor(request.model),
    ask: async (refused) => {
      const asStream = stream ? !isWhole(request, refused) : refused.has(wholeAnswers);
      const options = { dialect: models.dialect, stream: asStream, refused, cap, user, cacheKey };
      const body = writeRequest(request, options);
      if (refused.has(strictness) && isStrict(request)) call.warnings.add(notSupported(strictness));
      for (const text of keywordWarnings(request, refused)) call.warnings.add(text);
      const thinksLess = refused.has(thinkingBesideTools) && thinksBesideTools(request);
      if (thinksLess && chosenForChat(call, effort)) call.warnings.add(noThoughtsBesideTools);
      const sent = { method: "POST", path, body, headers, signal, connect: connectMs } as const;
      const asked = await attempt(server, call, sent);
      return "answer" in asked ? asked : aboutNeeded(asked, request, learn);
    },
    chosen: (field) => chosenForChat(call, field),
    learn,
    warnings: call.warnings,
  };
  return askWithout(question, refused && aboutNeeded(refused, request, learn));
}

/** Sends a request once, and reads what the server says where it refuses. */
export async function attempt(
  server: Server,
  call: Call<BackendMethod>,
  request: Request,
): Promise<Attempt<Answer>> {
  let answer: Answer;
  try {
    answer = await server.transport.send(request);
  } catch (thrown) {
    // It is asked for its models soon.
    if (thrown instanceof LintelError && thrown.code === "upstream_unreachable") {
      server.models.doubt();
    }
    throw thrown;
  }
  return refuses(answer) ? readRefused(answer, call) : { answer };
}
