/** A completion that comes as one message. */
import { cutShort } from "../adapt.js";
import { messageChoice, noParts, stoppedBy } from "../chat-messages.js";
import { textOfImages } from "../drawn.js";
import { withLogprobs } from "../logprobs.js";
import { type Reasoning, reasoningOf } from "../reasoning.js";
import { mostItems } from "../rules.js";
import { settle, settled } from "../settle.js";
import { newStamp, response } from "../stamp.js";
import { ToolCalls } from "../tool-calls.js";
import { hidesReasoning } from "../unseen.js";
import { wellFormed } from "../well-formed.js";
import { isCut } from "./reasons.js";
import { detailsFor, Shaped, type Step, tooLarge } from "./shaped.js";
import { noteTier } from "./tier.js";
import { toldTokensOf } from "./told-tokens.js";

/** The one message of a whole completion. */
export class Whole extends Shaped {
  protected shape(step: Step): Step {
    const message = step.done ? undefined : step.value[0];
    const choice = message?.choices[0];
    if (!message || !choice) throw cutShort();
    this.done = true;
    // Nobody asks for more: the answer is complete.
    this.source.return?.().catch(() => {});
    const { content: said = "", toolCalls = [], images: drawn = noParts } = choice.message ?? {};
    const content = wellFormed(said);
    const reasoning = reasoningIn(choice.message);
    if (toolCalls.length > mostItems) throw tooLarge();
    const called = toolCalls.length > 0 ? new ToolCalls() : undefined;
    const reason = this.ended(choice.finishReason, called !== undefined);
    const calls = called && toolCalls.map((call) => called.takeWhole(call, isCut(reason)));
    const thought = Buffer.byteLength(reasoning?.reasoningContent ?? "");
    const images = this.imagesOf(drawn);
    const bytes =
      Buffer.byteLength(content) + thought + (called?.bytes ?? 0) + textOfImages(images);
    const estimated = settle(this.call, message.usage, bytes, message.usageEstimated);
    const told = hidesReasoning(this.call.request) ? undefined : reasoning;
    const stop = this.stopOf(reason, choice.stopSequence);
    const answer = stoppedBy(messageChoice(content, reason, calls, told, images), stop);
    const whole = response(newStamp(this.call.attributes.model ?? ""), settled(this.call), answer);
    whole.usageEstimated = estimated;
    for (const text of message.warnings) this.call.warnings.add(text);
    const tokens = toldTokensOf(this.call);
    if (tokens) {
      withLogprobs(answer, tokens.ofWhole(choice, content));
      tokens.end(content !== "");
    }
    noteTier(this.call, message.serviceTier, whole);
    whole.warnings = [...this.call.warnings];
    return { done: false, value: [whole] };
  }
}

/** What a whole answer has of thoughts; as a rule that is nothing. */
function reasoningIn({ reasoningContent, reasoningDetails }: Reasoning = {}) {
  if (!reasoningContent && !reasoningDetails) return undefined;
  return reasoningOf(wellFormed(reasoningContent ?? ""), detailsFor(reasoningDetails));
}
