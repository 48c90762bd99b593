/** What a model thinks of which the caller sees nothing. */
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Call, Handle } from "./call.js";
import { iterable } from "./iterate.js";
import type { MethodName, Output } from "./methods.js";
import { reasoningChoice, reasoningOf } from "./reasoning.js";
import { ask, Relay, type Waiter } from "./steps.js";

/** Whether a caller wants the answer without what was thought. */
export const hidesReasoning = (request: object): boolean =>
  "includeReasoning" in request && request.includeReasoning === false;

/**
 * Keeps back what a model thinks of which the caller sees nothing, until something comes that is
 * seen: as long as that may be another target's. It is still in the messages then, since it counts
 * as the rest of the answer does: who counts leaves it out.
 */
export const unseenThoughts =
  (handle: Handle): Handle =>
  (call) =>
    iterable(() => new Unseen(handle(call)[Symbol.asyncIterator](), call));

type Batch = readonly Output<MethodName>[];
type Step = IteratorResult<Batch>;

class Unseen extends Relay<Batch> {
  readonly #call: Call;
  /** What nobody has seen so far, as one message. */
  #kept: LLMResponse | undefined;
  #seen = false;
  #over = false;
  #asking = false;
  #again = false;

  constructor(source: AsyncIterator<Batch>, call: Call) {
    super(source);
    this.#call = call;
  }

  override ask(by: Waiter<Step>): void {
    this.by = by;
    if (this.#over) by.came({ done: true, value: undefined });
    else this.#ask();
  }

  /** Not from within itself, however many steps come at once. */
  #ask(): void {
    this.#again = true;
    if (this.#asking) return;
    this.#asking = true;
    while (this.#again) {
      this.#again = false;
      ask(this.source, this);
    }
    this.#asking = false;
  }

  override came(step: Step): void {
    const kept = this.#kept;
    if (step.done) {
      this.#over = true;
      super.came(kept ? { done: false, value: [kept] } : step);
      return;
    }
    const messages = step.value as readonly LLMResponse[];
    this.#seen ||= messages.some(isSeen);
    if (!this.#seen) {
      for (const message of messages) this.#kept = together(this.#kept, message);
      this.#call.alive?.();
      this.#ask();
      return;
    }
    this.#kept = undefined;
    super.came(kept ? { done: false, value: [kept, ...messages] } : step);
  }

  override failed(reason: unknown): void {
    this.#over = true;
    super.failed(reason);
  }

  override return(): Promise<Step> {
    this.#over = true;
    return super.return();
  }
}

function isSeen({ choices: [choice] }: LLMResponse): boolean {
  if (!choice) return false;
  const { delta, finishReason } = choice;
  if (!delta || finishReason !== "") return true;
  return delta.content !== "" || delta.toolCalls.length > 0 || delta.images.length > 0;
}

/** Two messages that nobody sees as one: no thought of its details will be told, and of its text only the length. */
function together(before: LLMResponse | undefined, message: LLMResponse): LLMResponse {
  const thought = (it?: LLMResponse) => it?.choices[0]?.delta?.reasoningContent ?? "";
  return {
    ...message,
    usage: message.usage ?? before?.usage,
    usageEstimated: message.usageEstimated || (before?.usageEstimated ?? false),
    warnings: message.warnings.length > 0 ? message.warnings : (before?.warnings ?? []),
    choices: [reasoningChoice(reasoningOf(thought(before) + thought(message)))],
  };
}
