/** Completions by a provider of the AI SDK. */

import type { LanguageModelV3CallOptions, LanguageModelV3StreamPart } from "@ai-sdk/provider";
import type { LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../core/call.js";
import { messageChoice, stoppedBy } from "../../core/chat-messages.js";
import { mostAhead, WaitingTokens, withLogprobs } from "../../core/logprobs.js";
import { reasoningOf } from "../../core/reasoning.js";
import { servedIn } from "../completions/completion.js";
import { LeftOut } from "../completions/left-out.js";
import { type Attempt, askWithout, chosenForChat } from "../completions/refusals/asking.js";
import { aboutNeeded } from "../completions/refusals/refusal.js";
import { keywordsToRefuse, withToldSchemas } from "../completions/refusals/schema-keywords.js";
import { restoreCallNames, restoreNames } from "../completions/refusals/tool-names.js";
import { callPiece, imagesPiece, lastPiece, piece, thoughtPiece } from "../completions/stream.js";
import { type ThinkTags, tagged, untagged, untaggedStream } from "../completions/tagged.js";
import { CallParts, callsIn } from "./calls.js";
import { chatPackage } from "./chat-packages.js";
import { pictureIn } from "./drawing.js";
import { brokeOff, countsOf, finishReasonOf } from "./ending.js";
import {
  beginsMessage,
  failureOf,
  isNewer,
  isPing,
  noReason,
  refusalIn,
  reportedBy,
} from "./failure.js";
import { heed, refuseLost } from "./heed.js";
import { tokensIn } from "./logprobs.js";
import { ThoughtParts, thoughtsIn } from "./reasoning.js";
import { type ChatCall, type Configured, optionalFieldsOf, optionsOf } from "./request.js";
import { unlessUnread } from "./unread.js";
import { detailsOf, imagesOf, refusalOf, stopOf, tierIn, toldOfAnswer } from "./untold.js";
import { unwrapped } from "./written.js";

/** A chat model with what is configured for it. */
export interface ChatModel extends Configured {
  /** Request fields that the vendor refused for it, or the provider leaves out. */
  readonly refused: ReadonlySet<string>;
  /** Whether its texts may begin with thoughts. Default: `auto`. */
  readonly tags?: ThinkTags;
  /** The vendor refused a field, and did well without, or the provider leaves it out. */
  learn(field: string): void;
}

/** Streams a completion. `signal` is the call's, or aborts with it. */
export const chat = (known: ChatModel, call: Call<"chat">, signal: AbortSignal) =>
  untaggedStream(streamed(known, call, signal), tagged(known.tags, call.request));

async function* streamed(
  known: ChatModel,
  call: Call<"chat">,
  signal: AbortSignal,
): AsyncGenerator<readonly LLMResponse[]> {
  const { stream } = await ask(known, call, signal, (options) =>
    known.model.doStream({ ...options, includeRawChunks: true }),
  );
  const reader = stream.getReader();
  try {
    let stamp = stampOf({ model: call.request.model });
    /** Of the last chunk; the provider may tell it yet. */
    let refusal = "";
    let ofAnthropic = false;
    let cached: number | undefined;
    let stop: string | undefined;
    let tier: string | undefined;
    const calls = new CallParts();
    const thoughts = new ThoughtParts();
    const left = new LeftOut();
    const tokens = call.request.logprobs ? new WaitingTokens(mostAhead) : undefined;
    const tell = (message: LLMResponse) => {
      const step = [message];
      tokens?.giveTo(step, 0);
      return step;
    };
    for (;;) {
      const { done, value } = await asked(signal, reader.read());
      if (done) throw noReason();
      const part: LanguageModelV3StreamPart = value;
      const thought = thoughts.read(part);
      if (thought) yield tell(thoughtPiece(stamp, thought));
      if (part.type === "stream-start") heed(known, call, part.warnings);
      else if (part.type === "raw") {
        if (refusal !== "") yield tell(piece(stamp, refusal));
        heedFailure(part.rawValue);
        const images = imagesOf(part.rawValue, left);
        if (images.length > 0) yield [imagesPiece(stamp, images)];
        if (call.request.stop.length > 0) stop = stopOf(part.rawValue) ?? stop;
        ofAnthropic ||= beginsMessage(part.rawValue);
        const told = toldOfAnswer(part.rawValue);
        if (told) {
          cached = told.cached ?? cached;
          if (told.modelId !== stamp.model) stamp = stampOf(stamp, told);
        }
        tier = tierIn(part.rawValue) ?? tier;
        tokens?.add(tokensIn(part.rawValue));
        refusal = refusalOf(part.rawValue);
        const details = untoldDetails(known, part.rawValue);
        if (details !== "") yield [thoughtPiece(stamp, reasoningOf("", details))];
      } else if (part.type === "error") {
        const passed = isPing(part.error) || (ofAnthropic && isNewer(part.error));
        if (!passed) throw failureOf(part.error);
        call.alive?.();
      } else if (part.type === "response-metadata") stamp = stampOf(stamp, part);
      else if (part.type === "text-delta" && part.delta !== "") {
        if (part.delta === refusal) refusal = "";
        yield tell(piece(stamp, part.delta));
      } else if (part.type === "file") {
        const picture = pictureIn(part, left);
        if (picture) yield [imagesPiece(stamp, [picture])];
        else call.alive?.();
      } else if (part.type === "finish") {
        if (refusal !== "") yield tell(piece(stamp, refusal));
        if (brokeOff(part.finishReason)) throw noReason();
        const counts = countsOf(part.usage, cached);
        const last = { ...stamp, warnings: left.warnings() };
        const end = lastPiece(last, finishReasonOf(part.finishReason), counts, stop);
        yield tell(servedIn(end, tier));
        return;
      } else {
        const called = calls.read(part);
        if (called) {
          restoreCallNames([called], call.request, known.refused);
          yield tell(callPiece(stamp, [called]));
        } else if (!thought) call.alive?.();
      }
    }
  } finally {
    // After a failure cancelling fails too, and there is nothing left to say.
    void reader.cancel().catch(() => {});
  }
}

/** Runs a completion to its end. */
export async function* complete(
  known: ChatModel,
  call: Call<"complete">,
  signal: AbortSignal,
): AsyncGenerator<readonly LLMResponse[]> {
  const whole = await ask(known, call, signal, (options) => generated(known, call, options));
  restoreNames([whole], call.request, known.refused);
  yield [untagged(whole, tagged(known.tags, call.request))];
}

async function generated(
  known: ChatModel,
  call: Call<"complete">,
  options: LanguageModelV3CallOptions,
): Promise<LLMResponse> {
  const result = await unlessUnread(known.model.doGenerate(options));
  if ("choices" in result) return result;
  heedFailure(result.response?.body);
  heed(known, call, result.warnings);
  const said = result.content
    .map((part) => (part.type === "text" ? unwrapped(part.text) : ""))
    .join("");
  const refusal = refusalOf(result.response?.body);
  const content = said.endsWith(refusal) ? said : said + refusal;
  const details = untoldDetails(known, result.response?.body);
  const thought = thoughtsIn(result.content);
  const told = toldOfAnswer(result.response?.body) ?? {};
  const left = new LeftOut();
  const images = [
    ...imagesOf(result.response?.body, left),
    ...result.content.flatMap((part) => (part.type === "file" && pictureIn(part, left)) || []),
  ];
  const choice = messageChoice(
    content,
    finishReasonOf(result.finishReason, told.incomplete),
    callsIn(result.content),
    details === "" ? thought : { ...thought, reasoningDetails: details },
    images,
  );
  const { logprobs } = call.request;
  withLogprobs(choice, logprobs ? tokensIn(result.response?.body) : undefined);
  const whole: LLMResponse = {
    ...stampOf(stampOf({ model: call.request.model }, told), result.response),
    warnings: left.warnings(),
    usage: countsOf(result.usage, told.cached),
    choices: [stoppedBy(choice, stopOf(result.response?.body))],
  };
  return servedIn(whole, tierIn(result.response?.body));
}

/** What a server of OpenAI's form wants to see again, of which its provider does not know. */
const untoldDetails = ({ package: name }: ChatModel, raw: unknown): string =>
  chatPackage(name).thoughts === "fields" ? detailsOf(raw) : "";

function heedFailure(raw: unknown): void {
  const failure = reportedBy(raw);
  if (failure) throw failure;
}

/** What a provider answers, its errors as Lintel's. */
async function asked<T>(signal: AbortSignal, answer: PromiseLike<T>): Promise<T> {
  try {
    return await answer;
  } catch (thrown) {
    throw signal.aborted ? signal.reason : failureOf(thrown);
  }
}

/** Asks the provider, without what its vendor refuses. */
async function ask<T>(
  known: ChatModel,
  call: ChatCall,
  signal: AbortSignal,
  send: (options: LanguageModelV3CallOptions) => PromiseLike<T>,
): Promise<Awaited<T>> {
  refuseLost(known.refused, call);
  return askWithout({
    fields: (refused) => optionalFieldsOf(call, known, refused),
    named: (words, refused) =>
      keywordsToRefuse(words, withToldSchemas(call.request, refused), refused),
    known: () => known.refused,
    async ask(refused) {
      const options = await optionsOf(call, known, refused, signal);
      const asked = await attempt(signal, send(options));
      if ("answer" in asked) return asked;
      return aboutNeeded(asked, call.request, (field) => known.learn(field));
    },
    chosen: (field) => chosenForChat(call, field),
    learn: (field) => known.learn(field),
    warnings: call.warnings,
  });
}

/** Sends a request once, and reads what the vendor says where it refuses. */
export async function attempt<T>(
  signal: AbortSignal,
  answer: PromiseLike<T>,
): Promise<Attempt<Awaited<T>>> {
  try {
    return { answer: await answer };
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    return { ...refusalIn(thrown), failure: () => failureOf(thrown) };
  }
}

/** What all messages of an answer share. */
type Stamp = Omit<LLMResponse, "usage" | "choices">;

/** What is said of an answer, above what was known of it. */
function stampOf(
  { id = "", model, created }: Partial<Stamp> & { model: string },
  said: { id?: string; modelId?: string; timestamp?: Date } = {},
): Stamp {
  const now = () => Math.floor(Date.now() / 1000);
  return {
    $typeName: "lintel.v1.LLMResponse",
    id: said.id ?? id,
    model: said.modelId ?? model,
    created: said.timestamp ? Math.floor(said.timestamp.getTime() / 1000) : (created ?? now()),
    usageEstimated: false,
    warnings: [],
  };
}
