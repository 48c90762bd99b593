/** One completion. */

import { randomInt } from "node:crypto";
import type { Token } from "node-llama-cpp";
import type { LLMRequest, LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { CallSignal } from "../../core/cancellation.js";
import { detailsOf, tokenUsage } from "../../core/chat-messages.js";
import { chatDefaults } from "../../core/defaults.js";
import { invalidValue, overflow } from "../../core/errors.js";
import { notSupported } from "../../core/warnings.js";
import { nothing } from "../marked-thoughts.js";
import type { AnswerReader, Heard } from "./answer.js";
import { ChannelReader } from "./channels.js";
import { constraintOf } from "./constraint.js";
import { Detokenizer } from "./detokenizer.js";
import { Evaluation, type Penalties, type Sampling } from "./evaluation.js";
import type { LoadedModel } from "./model.js";
import { askedOf, isHopeless, toolsFor } from "./prompt.js";
import { ReceiverReader } from "./receivers.js";
import { SectionReader } from "./sections.js";
import type { Asked } from "./template.js";
import { beginsThoughts, ThoughtReader } from "./thoughts.js";
import { biasOf } from "./token-bias.js";
import { Told } from "./told.js";
import type { KnownTools } from "./tools/calls.js";
import { schemasOf } from "./tools/rendering.js";

/**
 * Runs a completion on a sequence of the pool.
 * @param signal aborts between two tokens; its reason is thrown
 * @throws LintelError `invalid_value` if the conversation does not fit the context,
 *   `unsupported_parameter` if the answer can't be held to its form
 */
export async function* generate(
  loaded: LoadedModel,
  request: LLMRequest,
  signal: CallSignal,
): AsyncGenerator<readonly LLMResponse[]> {
  const { messages } = request;
  if (isHopeless(loaded, request)) throw tooLong(`at least ${messages.length}`, loaded);
  const tools = toolsFor(loaded, request);
  const grammar = await constraintOf(loaded, request, tools);
  const biased = await biasOf(loaded.model, request);
  if (biased && grammar) grammar.usual = biased.bias;
  const asked = askedOf(loaded, request, tools);
  const prompt = loaded.tokenize(messages, asked);
  const room = loaded.contextSize - prompt.length;
  if (room < 1) throw tooLong(room < 0 ? `at least ${prompt.length}` : prompt.length, loaded);
  const limit = Math.min(request.maxTokens ?? chatDefaults.maxTokens, room);
  const place = await loaded.pool.acquire(
    signal,
    ({ sequence }) => sequence.compareContextTokens(prompt).firstDifferentIndex,
  );
  // By a grammar nothing follows on other channels, unless it is thought ahead.
  const isAlone = grammar !== undefined && !asked.thinksFirst;
  const ends = (token: Token) => (isAlone ? loaded.model.isEogToken(token) : loaded.ends(token));
  const sampling = samplingOf(request);
  const work = { prompt, sampling, bias: biased?.bias, grammar, limit, ends };
  const evaluation = loaded.begin(new Evaluation(place, work, loaded.progress));
  try {
    const detokenizer = new Detokenizer(loaded.model, prompt);
    const known = tools && schemasOf(request);
    const reader = readerOf(loaded, prompt, known, asked);
    const told = new Told(request, [...request.stop, ...loaded.stops], tools, known);
    let count = 0;
    let thoughts = 0;
    let finishReason = "";
    while (finishReason === "") {
      const token = await evaluation.next(signal);
      count++;
      if (reader?.isThinking) thoughts++;
      if (token === undefined || ends(token)) {
        finishReason = "stop";
      } else {
        const fresh = (tools && loaded.marks.get(token)) ?? detokenizer.push(token);
        const said: Heard = reader ? reader.push(token, fresh) : { thought: "", text: fresh };
        yield* told.think(said.thought);
        yield* told.push(said.text);
        yield* told.call(said.calls);
        if (told.isDone) finishReason = "stop";
        else if (count >= limit) finishReason = "length";
      }
    }
    const rest: Heard = (!told.isStopped && reader?.flush()) || nothing;
    yield* told.think(rest.thought);
    yield* told.end(rest.text, finishReason === "stop");
    yield* told.call(rest.calls);
    const thinks = loaded.thoughts || loaded.channels || loaded.sections;
    const details = detailsOf(undefined, undefined, thinks ? thoughts : undefined);
    const usage = tokenUsage(prompt.length, count, details);
    const warnings = warningsOf(loaded, request, isAlone);
    if (biased) warnings.push(...biased.warnings);
    yield [{ ...told.last(finishReason), usage, warnings }];
  } finally {
    // Nobody waits until the sequence's last evaluation is through.
    void loaded.end(evaluation);
  }
}

/** What finds thoughts in an answer; `undefined` where all of it is said. */
function readerOf(
  { model, channels, sections, thoughts, tools }: LoadedModel,
  prompt: readonly Token[],
  known: KnownTools | undefined,
  { thinksFirst }: Asked,
): AnswerReader | undefined {
  if (channels) {
    const textOf = (token: Token) => model.detokenize([token]);
    const written = tools?.call.as === "channel" ? tools.call.message : undefined;
    return new ChannelReader(channels, prompt, textOf, known, thinksFirst, written);
  }
  if (sections) {
    return new SectionReader(
      sections.of,
      sections.tokens,
      model.detokenize(prompt.slice(-64), true),
    );
  }
  if (!thoughts) {
    return tools?.said === undefined ? undefined : new ReceiverReader(tools.begin, tools.said);
  }
  // With room for the lines behind the mark.
  const end = prompt.slice(-thoughts.marks.open.length - 8);
  const begun = beginsThoughts(model.detokenize(end, true), thoughts.marks);
  return new ThoughtReader(thoughts, begun, thinksFirst);
}

/** What was asked for in vain: before it was loaded, nobody knew what the model can do. */
function warningsOf(loaded: LoadedModel, request: LLMRequest, isAlone: boolean): string[] {
  const warnings: string[] = [];
  if (!loaded.tools && request.tools.length > 0) {
    warnings.push(notSupported("tools"));
  }
  if (request.reasoningEffort !== "" && request.reasoningEffort !== "none") {
    if (!loaded.hasEffort) {
      warnings.push(notSupported("reasoning_effort"));
    } else if (isAlone) {
      warnings.push("reasoning_effort: this model can't think before an answer in a form, ignored");
    }
  }
  return warnings;
}

/** With OpenAI's code for it, by which clients know that a shorter conversation would do. */
const tooLong = (tokens: number | string, { contextSize }: LoadedModel) =>
  invalidValue(
    "messages",
    `they have ${tokens} tokens, the model holds ${contextSize - 1} besides its answer (${overflow})`,
  );

/**
 * llama.cpp takes this seed for "random". All others are taken, so as a seed it draws what the
 * one below draws.
 */
const randomSeed = 0xffffffff;

/** Below this llama.cpp divides by what is 0 in single precision, and draws noise. */
const leastTemperature = 1e-6;

function samplingOf(request: LLMRequest): Sampling {
  const given = request.seed === undefined || request.seed < 0n ? undefined : Number(request.seed);
  const temperature = request.temperature ?? chatDefaults.temperature;
  const topK = request.topK ?? chatDefaults.topK;
  return {
    temperature: temperature < leastTemperature ? 0 : temperature,
    topK: Math.max(topK, 0),
    topP: request.topP ?? chatDefaults.topP,
    seed: Math.min(given ?? randomInt(randomSeed), randomSeed - 1),
    minP: request.minP,
    penalties: penaltiesOf(request),
  };
}

/** What tokens lose that an answer has; `undefined`: nothing. */
function penaltiesOf(request: LLMRequest): Penalties | undefined {
  const { repetitionPenalty: penalty = chatDefaults.repetitionPenalty } = request;
  const { presencePenalty = 0, frequencyPenalty = 0 } = request;
  const isNone = penalty === 1 && presencePenalty === 0 && frequencyPenalty === 0;
  return isNone ? undefined : { penalty, presencePenalty, frequencyPenalty };
}
