/** Reads the events of a streamed completion. */
import type {
  ContentPart,
  LLMResponse,
  LLMTokenUsage,
  ToolCall,
} from "../../../gen/lintel/v1/chat_pb.js";
import { deltaChoice, stoppedBy } from "../../core/chat-messages.js";
import { imagesChoice } from "../../core/drawn.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { mostAhead, WaitingTokens, withLogprobs } from "../../core/logprobs.js";
import { type Reasoning, reasoningChoice, reasoningOf } from "../../core/reasoning.js";
import { brokenOff, failureIn } from "../http/failure.js";
import { string } from "../http/json.js";
import type { MarkedThoughts } from "../marked-thoughts.js";
import { CallPieces } from "./calls.js";
import {
  firstChoice,
  isEstimated,
  readEnd,
  readObject,
  readStop,
  readText,
  readTier,
  readUsage,
  servedIn,
  stampOf,
} from "./completion.js";
import type { ServerEvent } from "./events.js";
import { readImages } from "./images.js";
import { LeftOut } from "./left-out.js";
import { readLogprobs } from "./logprobs.js";
import { untag } from "./tagged.js";
import { ChunkTemplate, contents, thinking } from "./template.js";
import { readThoughts } from "./thoughts.js";

/** What all messages of an answer share. */
type Stamp = Omit<LLMResponse, "usage" | "choices">;

/**
 * Makes the contract's stream out of a server's: a message for each piece of
 * text, then one last message with empty content, the finish reason, and the
 * usage wherever in the stream it came. So the finish reason is held back until
 * the stream is over.
 */
export class CompletionStream {
  #stamp: Stamp | undefined;
  #finishReason: string | undefined;
  #stopSequence: string | undefined;
  #usage: LLMTokenUsage | undefined;
  #estimated = false;
  #tier: string | undefined;
  /** Whether there are pieces: a message beside them, or after them, is all of them again. */
  #inPieces = false;
  #done = false;
  readonly #template = new ChunkTemplate(contents);
  /** Of chunks that have thoughts. */
  readonly #thinking = new ChunkTemplate(thinking);
  #calls: CallPieces | undefined;
  /** Of which no message tells so far; absent: the server tells none, as a rule. */
  #tokens: WaitingTokens | undefined;
  readonly #leftOut = new LeftOut();
  /** Finds thoughts in the text, until there can be none. */
  #tagged: MarkedThoughts | undefined;

  /** @param tagged absent: all text is said */
  constructor(tagged?: MarkedThoughts) {
    this.#tagged = tagged;
  }

  /** Whether `[DONE]` was read: nothing that comes now counts. */
  get done(): boolean {
    return this.#done;
  }

  /** Whether the server has said why it ended: the answer is complete, come what may. */
  get finished(): boolean {
    return this.#finishReason !== undefined;
  }

  /**
   * Takes an event.
   * @param out gets the messages that it makes
   * @throws LintelError as the server reports it, or `upstream_failed`
   */
  push({ data, failed }: ServerEvent, out: LLMResponse[]): void {
    if (this.#done) return;
    if (!failed && this.#stamp && this.#takeKnown(data, this.#stamp, out)) return;
    const trimmed = data.trim();
    if (trimmed === "") return;
    if (trimmed.startsWith("[DONE]")) {
      this.finish(out);
      return;
    }
    const chunk = readObject(data);
    const failure = failureIn(chunk, failed);
    if (failure) throw failure;
    const choice = firstChoice(chunk);
    // Moonshot's stands in the choice.
    const usage = readUsage(chunk.usage) ?? readUsage(choice?.usage);
    if (usage) {
      this.#usage = usage;
      this.#estimated = isEstimated(chunk);
    }
    this.#tier = readTier(chunk) ?? this.#tier;
    if (!choice) return;
    // Azure's first chunk, about the prompt, has neither a choice nor a name.
    this.#stamp ??= stampOf(chunk);
    const said = this.#saidIn(choice);
    const thought = readThoughts(said);
    this.#leftOut.ofMessage(said);
    const images = readImages(said, this.#leftOut);
    // vLLM-Omni has sounds in the place of text, in base64.
    const isText = images.length > 0 || !this.#leftOut.ofKind(string(chunk.modality));
    const content = isText ? readText(said) : "";
    const calls = said.tool_calls || said.function_call ? this.#callsIn(said) : [];
    const tokens = readLogprobs(choice, content || thought?.reasoningContent);
    const from = out.length;
    if (thought) this.#add(thoughtPiece(this.#stamp, thought), out);
    if (content !== "") this.#add(piece(this.#stamp, content), out);
    if (images.length > 0) this.#add(imagesPiece(this.#stamp, images), out);
    if (calls.length > 0) this.#add(callPiece(this.#stamp, calls), out);
    if (this.#tokens || tokens.length > 0) {
      this.#tokens ??= new WaitingTokens(mostAhead);
      this.#tokens.add(tokens);
      this.#tokens.giveTo(out, from);
    }
    const finishReason = readEnd(choice);
    if (finishReason) {
      this.#finishReason = finishReason;
      this.#stopSequence = readStop(choice);
    } else if (calls.length + images.length + tokens.length === 0 && !usage) {
      this.#learn(data, content, thought);
    }
  }

  /** A chunk that is like an earlier one but for its text. */
  #takeKnown(data: string, stamp: Stamp, out: LLMResponse[]): boolean {
    const text = this.#template.textOf(data);
    if (text !== undefined) {
      if (text !== "") this.#add(piece(stamp, text), out);
      return true;
    }
    const thought = this.#thinking.textOf(data);
    if (thought === undefined) return false;
    if (thought !== "") this.#add(thoughtPiece(stamp, { reasoningContent: thought }), out);
    return true;
  }

  #add(message: LLMResponse, out: LLMResponse[]): void {
    if (this.#tagged) this.#tagged = untag(message, this.#tagged, out);
    else out.push(message);
  }

  #learn(data: string, content: string, thought: Reasoning | undefined): void {
    if (content !== "" && !thought) this.#template.learn(data, content);
    if (content !== "" || !thought?.reasoningContent || thought.reasoningDetails) return;
    this.#thinking.learn(data, thought.reasoningContent);
  }

  #callsIn(said: JsonObject): ToolCall[] {
    this.#calls ??= new CallPieces();
    return this.#calls.read(said);
  }

  /** Some servers that don't stream answer with one event, or some, that has a message in it. */
  #saidIn({ delta, message }: JsonObject): JsonObject {
    if (isObject(delta)) {
      this.#inPieces = true;
      return delta;
    }
    return isObject(message) && !this.#inPieces ? message : {};
  }

  /**
   * The stream is over: adds the last message, once.
   * @throws LintelError `upstream_failed` if the server never said why it ended
   */
  finish(out: LLMResponse[]): void {
    if (this.#done) return;
    this.#done = true;
    if (!this.#stamp || this.#finishReason === undefined) {
      throw brokenOff(undefined, "no finish reason");
    }
    const warnings = this.#leftOut.warnings();
    const stamp = { ...this.#stamp, usageEstimated: this.#estimated, warnings };
    const from = out.length;
    const last = lastPiece(stamp, this.#finishReason, this.#usage, this.#stopSequence);
    this.#add(servedIn(last, this.#tier), out);
    this.#tokens?.giveTo(out, from);
  }
}

/** A message of a stream. */
export function piece(
  stamp: Stamp,
  content: string,
  finishReason = "",
  usage?: LLMTokenUsage,
): LLMResponse {
  // Written out: copying the stamp would cost more than all the rest.
  return {
    $typeName: "lintel.v1.LLMResponse",
    id: stamp.id,
    model: stamp.model,
    created: stamp.created,
    usageEstimated: stamp.usageEstimated,
    warnings: stamp.warnings,
    usage,
    choices: [deltaChoice(content, finishReason)],
  };
}

/** The last message of a stream. @param stopSequence the text of `stop` that ended it, where that is told */
export function lastPiece(
  stamp: Stamp,
  finishReason: string | undefined,
  usage: LLMTokenUsage | undefined,
  stopSequence: string | undefined,
): LLMResponse {
  const last = piece(stamp, "", finishReason, usage);
  for (const choice of last.choices) stoppedBy(choice, stopSequence);
  return last;
}

/** A message of a stream that has calls of tools, or pieces of them. */
export const callPiece = (stamp: Stamp, calls: ToolCall[]): LLMResponse => ({
  ...stamp,
  choices: [deltaChoice("", "", calls)],
});

/** A message of a stream that has pictures. */
export const imagesPiece = (stamp: Stamp, images: ContentPart[]): LLMResponse => ({
  ...stamp,
  choices: [imagesChoice(images)],
});

/** A message of a stream that has thoughts. */
export const thoughtPiece = (stamp: Stamp, thought: Reasoning): LLMResponse => ({
  ...stamp,
  choices: [reasoningChoice(thought)],
});

/** A whole completion as a stream, for servers that do not stream. */
export function asStream(whole: LLMResponse): LLMResponse[] {
  const { usage, choices, serviceTier, ...stamp } = whole;
  const { message } = choices[0] ?? {};
  const { content = "", toolCalls = [], images = [] } = message ?? {};
  const thought = reasoningOf(message?.reasoningContent ?? "", message?.reasoningDetails);
  const tokens = choices[0]?.logprobs?.content;
  const messages = [
    ...(Object.keys(thought).length === 0 ? [] : [thoughtPiece(stamp, thought)]),
    ...(content === "" ? [] : [piece(stamp, content)]),
    ...(images.length === 0 ? [] : [imagesPiece(stamp, images)]),
    ...(toolCalls.length === 0 ? [] : [callPiece(stamp, toolCalls)]),
    servedIn(
      lastPiece(stamp, choices[0]?.finishReason, usage, choices[0]?.stopSequence),
      serviceTier,
    ),
  ];
  const told = messages.find((one) => one.choices[0]?.delta?.content) ?? messages.at(-1);
  for (const choice of told?.choices ?? []) withLogprobs(choice, tokens);
  return messages;
}
