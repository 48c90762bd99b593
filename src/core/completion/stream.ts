/** A completion that comes in pieces. */
import type {
  ContentPart,
  LLMResponse,
  LLMTokenUsage,
  ToolCall,
} from "../../../gen/lintel/v1/chat_pb.js";
import { cutShort } from "../adapt.js";
import type { Call } from "../call.js";
import { deltaChoice, stoppedBy } from "../chat-messages.js";
import { imagesChoice, lengthOfImages, textOfImages } from "../drawn.js";
import { type Reasoning, reasoningChoice, reasoningOf } from "../reasoning.js";
import { mostItems } from "../rules.js";
import { settle, settled } from "../settle.js";
import { newStamp, noUsage, response, type Stamp } from "../stamp.js";
import { ToolCalls } from "../tool-calls.js";
import { hidesReasoning } from "../unseen.js";
import { WholeCharacters, wellFormed } from "../well-formed.js";
import { isCut } from "./reasons.js";
import { type Batch, detailsFor, Shaped, type Step, tooLarge } from "./shaped.js";
import { noteTier } from "./tier.js";
import { type ToldTokens, toldTokensOf } from "./told-tokens.js";

/**
 * Most bytes of a streamed answer with its thoughts, a hundred times what any model says: some doors, and
 * guards, keep all of it until it ends, and a server that does not end would fill the memory.
 */
const longestAnswer = 64 * 1024 * 1024;

/** The pieces of a streamed completion, and one last message. */
export class Stream extends Shaped {
  readonly #stamp: Stamp;
  #usage: LLMTokenUsage | undefined;
  #finishReason = "";
  #stopSequence: string | undefined;
  #bytes = 0;
  /** Letters of what is only to be seen again of thoughts, and of pictures. */
  #details = 0;
  #usageEstimated = false;
  #tier: string | undefined;
  readonly #text = new WholeCharacters();
  /** What the model thinks, while it does. */
  #thinking: WholeCharacters | undefined;
  readonly #hidesThoughts: boolean;
  #calls: ToolCalls | undefined;
  /** Absent: nobody asks how likely they were. */
  readonly #tokens: ToldTokens | undefined;

  constructor(call: Call, source: AsyncIterator<Batch>) {
    super(call, source);
    this.#stamp = newStamp(call.attributes.model ?? "");
    this.#hidesThoughts = hidesReasoning(call.request);
    this.#tokens = toldTokensOf(call);
  }

  override return(): Promise<Step> {
    this.done = true;
    return super.return();
  }

  protected shape(step: Step): Step | undefined {
    if (step.done) return this.#last();
    const out: LLMResponse[] = [];
    for (const message of step.value) this.#take(message, out);
    const beside = this.#details + (this.#calls?.beside ?? 0) + (this.#tokens?.length ?? 0);
    if (this.#said + beside > longestAnswer) this.#refuse();
    if (out.length === 0) return undefined;
    // What was delivered counts, also if the caller leaves or upstream fails from here on.
    settle(this.call, undefined, this.#said);
    return { done: false, value: out };
  }

  #refuse(): never {
    this.done = true;
    this.source.return?.().catch(() => {});
    throw tooLarge();
  }

  #take(message: LLMResponse, out: LLMResponse[]): void {
    // Usage may come with the last choice, after it, or with every piece.
    if (message.usage) this.#usage = message.usage;
    if (message.usageEstimated) this.#usageEstimated = true;
    if (message.serviceTier !== undefined) this.#tier = message.serviceTier;
    for (const text of message.warnings) this.call.warnings.add(text);
    const choice = message.choices[0];
    if (!choice) return;
    const { delta } = choice;
    const from = out.length;
    if (delta?.reasoningContent || delta?.reasoningDetails) this.#think(delta, out);
    const text = this.#text.push(delta?.content ?? "");
    if (text !== "") this.#say(text, out);
    if (delta && delta.images.length > 0) this.#draw(delta.images, out);
    if (delta && delta.toolCalls.length > 0) this.#callTools(delta.toolCalls, out);
    if (choice.finishReason) {
      this.#finishReason = choice.finishReason;
      this.#stopSequence = choice.stopSequence;
    }
    this.#tokens?.take(choice, out, from);
  }

  #think({ reasoningContent = "", reasoningDetails = "" }: Reasoning, out: LLMResponse[]): void {
    this.#thinking ??= new WholeCharacters();
    const text = this.#thinking.push(reasoningContent);
    const details = detailsFor(reasoningDetails);
    this.#details += details.length;
    if (text !== "" || details !== "") this.#tellThought(text, details, out);
  }

  /** Something else follows: half of a character is all that there is of it. */
  #endThinking(out: LLMResponse[]): void {
    const rest = this.#thinking?.end() ?? "";
    this.#thinking = undefined;
    if (rest !== "") this.#tellThought(rest, "", out);
  }

  #tellThought(text: string, details: string, out: LLMResponse[]): void {
    const thought = wellFormed(text);
    this.#bytes += Buffer.byteLength(thought);
    if (this.#hidesThoughts) return;
    const reasoning = reasoningOf(thought, details);
    out.push(response(this.#stamp, noUsage, reasoningChoice(reasoning)));
  }

  #draw(images: ContentPart[], out: LLMResponse[]): void {
    if (this.#thinking) this.#endThinking(out);
    const told = this.imagesOf(images);
    this.#details += lengthOfImages(told);
    this.#bytes += textOfImages(told);
    if (told.length > 0) out.push(response(this.#stamp, noUsage, imagesChoice(told)));
  }

  #callTools(calls: readonly ToolCall[], out: LLMResponse[]): void {
    if (this.#thinking) this.#endThinking(out);
    this.#calls ??= new ToolCalls();
    const called = this.#calls;
    // A request that shows them to a model again can have no more.
    if (Math.max(calls.length, called.count) > mostItems) this.#refuse();
    const pieces = calls.map((call) => called.take(call)).filter((piece) => piece !== undefined);
    if (pieces.length > 0) out.push(response(this.#stamp, noUsage, deltaChoice("", "", pieces)));
  }

  /** Bytes of what was delivered. */
  get #said(): number {
    return this.#bytes + (this.#calls?.bytes ?? 0);
  }

  #say(said: string, out: LLMResponse[]): void {
    if (this.#thinking) this.#endThinking(out);
    const text = wellFormed(said);
    this.#bytes += Buffer.byteLength(text);
    out.push(response(this.#stamp, noUsage, deltaChoice(text, "")));
  }

  #last(): Step {
    this.done = true;
    if (this.#finishReason === "") throw cutShort();
    const out: LLMResponse[] = [];
    if (this.#thinking) this.#endThinking(out);
    const rest = this.#text.end();
    if (rest !== "") this.#say(rest, out);
    const reason = this.ended(this.#finishReason, this.#calls !== undefined);
    const calls = this.#calls?.end(isCut(reason)) ?? [];
    if (calls.length > 0) out.push(response(this.#stamp, noUsage, deltaChoice("", "", calls)));
    const estimated = settle(this.call, this.#usage, this.#said, this.#usageEstimated);
    const stop = this.stopOf(reason, this.#stopSequence);
    const choice = stoppedBy(deltaChoice("", reason), stop);
    const last = response(this.#stamp, settled(this.call), choice);
    last.usageEstimated = estimated;
    noteTier(this.call, this.#tier, last);
    out.push(last);
    this.#tokens?.give(out, 0);
    this.#tokens?.end(this.#bytes > 0);
    last.warnings = [...this.call.warnings];
    return { done: false, value: out };
  }
}
