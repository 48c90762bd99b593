/** The pieces of a streamed completion, joined to a whole one. */
import type {
  ContentPart,
  LLMResponse,
  TokenLogprob,
  ToolCall,
} from "../../gen/lintel/v1/chat_pb.js";
import { messageChoice, noParts, stoppedBy } from "./chat-messages.js";
import { lengthOfImages } from "./drawn.js";
import { lengthOfTokens, withLogprobs } from "./logprobs.js";
import { Thoughts } from "./reasoning.js";
import { joinCalls } from "./tool-calls.js";

/** Collects a completion's messages. */
export class Gathered {
  #last: LLMResponse | undefined;
  #content = "";
  #finishReason = "";
  #stopSequence: string | undefined;
  readonly #calls: ToolCall[] = [];
  /** Of all pictures; as a rule there are none, and none is made. */
  #images: ContentPart[] = noParts;
  readonly #thoughts = new Thoughts();
  /** Absent: nothing is told of them, as a rule. */
  #tokens: TokenLogprob[] | undefined;
  #length = 0;

  /** Letters so far, of all that was said, thought, called and drawn, and of its tokens. */
  get length(): number {
    return this.#length;
  }

  /** Takes the next message. */
  add(message: LLMResponse): void {
    const before = this.#last;
    this.#last = {
      ...message,
      usage: message.usage ?? before?.usage,
      usageEstimated: message.usageEstimated || (before?.usageEstimated ?? false),
      warnings: message.warnings.length > 0 ? message.warnings : (before?.warnings ?? []),
    };
    const tier = message.serviceTier ?? before?.serviceTier;
    if (tier !== undefined) this.#last.serviceTier = tier;
    const choice = message.choices[0];
    if (!choice) return;
    const { delta, finishReason, stopSequence } = choice;
    if (finishReason) this.#finishReason = finishReason;
    if (stopSequence !== undefined) this.#stopSequence = stopSequence;
    if (choice.logprobs) this.#note(choice.logprobs.content);
    if (!delta) return;
    const { content, toolCalls, images, reasoningContent = "", reasoningDetails = "" } = delta;
    if (images.length > 0) {
      this.#images = [...this.#images, ...images];
      this.#length += lengthOfImages(images);
    }
    this.#length += content.length + reasoningContent.length + reasoningDetails.length;
    for (const { function: called } of toolCalls) this.#length += called?.arguments.length ?? 0;
    this.#content += content;
    this.#calls.push(...toolCalls);
    this.#thoughts.add(delta);
  }

  #note(tokens: readonly TokenLogprob[]): void {
    this.#tokens ??= [];
    for (const token of tokens) this.#tokens.push(token);
    this.#length += lengthOfTokens(tokens);
  }

  /** The whole answer; `undefined` as long as nothing said why it ended. */
  get whole(): LLMResponse | undefined {
    const reason = this.#finishReason;
    if (!this.#last || reason === "") return undefined;
    const calls = joinCalls(this.#calls);
    const choice = messageChoice(this.#content, reason, calls, this.#thoughts.all, this.#images);
    withLogprobs(stoppedBy(choice, this.#stopSequence), this.#tokens);
    return { ...this.#last, choices: [choice] };
  }
}

/** A whole completion as the one piece of a stream. */
export const inPiece = (whole: LLMResponse): LLMResponse => ({
  ...whole,
  choices: whole.choices.map(({ message: delta, ...choice }) => ({ ...choice, delta })),
});
