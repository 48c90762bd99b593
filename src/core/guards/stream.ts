/**
 * Streamed answers: each piece is delivered once a guard has looked at it. What the model says, and what
 * it thinks, are texts that go on, whatever comes between their pieces; of both as much of the end is held
 * back as the guard needs. The details of thoughts are delivered when they are complete, and calls of tools
 * at the end. Of a stream that fails all text is delivered that came ahead of the failure.
 */
import type {
  ContentPart,
  LLMMessage,
  LLMRequest,
  LLMResponse,
  ToolCall,
} from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import { deltaChoice, messageOf, stoppedBy } from "../chat-messages.js";
import { imagesChoice } from "../drawn.js";
import { LintelError } from "../errors.js";
import { reasoningChoice, reasoningOf, Thoughts } from "../reasoning.js";
import { settled } from "../settle.js";
import { noUsage } from "../stamp.js";
import { isJson } from "../text-forms.js";
import { joinCalls } from "../tool-calls.js";
import { lookedAt } from "./answer.js";
import { ask, heed } from "./ask.js";
import type { Guard, Verdict } from "./guard.js";
import { drawnIn } from "./images.js";
import { JsonMarks } from "./json-marks.js";
import { GuardedTokens } from "./tokens.js";

type Batch = readonly LLMResponse[];
type Kind = "content" | "reasoning";

/** Characters of a text after which a guard that holds nothing back itself is asked about them. */
const pieceLength = 500;
/** Characters of which a guard holds back as many, or more, that are not looked at again for each piece that is a small part of them. */
const longHeld = 1024;
const smallPart = 16;
/** Characters ahead of a piece that it is shown with: what it means may begin there. */
const shownBefore = 256;

/**
 * The pieces of a streamed completion as one guard leaves them.
 * @param stop ends what makes the pieces: nobody reads on
 */
export async function* guardedStream(
  source: AsyncIterable<Batch>,
  call: Call,
  guard: Guard,
  stop: (reason: LintelError) => void,
): AsyncGenerator<Batch, void> {
  const stream = new GuardedStream(call, guard);
  let delivered = false;
  for await (const step of stepsOf(source)) {
    const out: LLMResponse[] = [];
    let thrown: unknown;
    try {
      if (step instanceof Failure) await stream.cutOff(out);
      else for (const message of step) await stream.take(message, out);
    } catch (reason) {
      thrown = reason;
    }
    // What was looked at is delivered, whatever is thought of what follows.
    delivered ||= out.length > 0;
    if (out.length > 0) yield out;
    if (step instanceof Failure && !isBlock(thrown)) throw step.reason;
    if (thrown === undefined) continue;
    if (!delivered || !isBlock(thrown)) throw thrown;
    stop(thrown);
    yield [stream.blockedEnd()];
    return;
  }
}

/** What a verdict leaves of a text, and whether something in it was replaced. */
const leftOf = (verdict: Verdict, text: string) =>
  verdict.action === "replace"
    ? { text: verdict.texts[0] ?? text, replaced: true }
    : { text, replaced: false };

/** The end of a text that is shown with what follows. JSON with half of a character some servers refuse. */
const endOf = (text: string): string => text.slice(-shownBefore).replace(/^[\udc00-\udfff]/, "");

/** How a source failed. */
class Failure {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

/** What a source says, and at the end its failure, where it fails. */
async function* stepsOf(source: AsyncIterable<Batch>): AsyncGenerator<Batch | Failure> {
  try {
    yield* source;
  } catch (reason) {
    yield new Failure(reason);
  }
}

const isBlock = (thrown: unknown): thrown is LintelError =>
  thrown instanceof LintelError && thrown.code === "content_blocked";

/** What one guard makes of one stream. */
class GuardedStream {
  readonly #call: Call;
  readonly #guard: Guard;
  /** The last message, of which those that are made have their stamp. */
  #last: LLMResponse | undefined;
  /** What is held of each text, how much of that was looked at, and what stands ahead of it. */
  readonly #texts: Readonly<Record<Kind, { held: string; seen: number; before: string }>> = {
    content: { held: "", seen: 0, before: "" },
    reasoning: { held: "", seen: 0, before: "" },
  };
  /** Follows the content; absent: it is no JSON. */
  readonly #marks: JsonMarks | undefined;
  #thoughts = new Thoughts();
  readonly #calls: ToolCall[] = [];
  /** Absent: nothing is told of them, as a rule. */
  #tokens: GuardedTokens | undefined;

  constructor(call: Call, guard: Guard) {
    this.#call = call;
    this.#guard = guard;
    this.#marks = isJson(call.request as LLMRequest) ? new JsonMarks() : undefined;
  }

  /** Takes a message. @param out gets what can be delivered @throws LintelError as `ask` */
  async take(message: LLMResponse, out: LLMResponse[]): Promise<void> {
    this.#last = message;
    const [choice] = message.choices;
    const { delta, finishReason = "", stopSequence } = choice ?? {};
    if (choice?.logprobs) {
      this.#tokens ??= new GuardedTokens(this.#call);
      this.#tokens.add(choice);
    }
    if (delta) await this.#takeDelta(delta, out);
    if (finishReason === "") return;
    await this.#end(out);
    // Its text is among those that were looked at.
    const last = stoppedBy(deltaChoice("", finishReason), stopSequence);
    out.push({ ...message, choices: [this.#tokens?.with(last) ?? last] });
  }

  /** The last message of an answer that was blocked, with what the model took so far. */
  blockedEnd(): LLMResponse {
    const end = this.#piece(deltaChoice("", "content_filter"));
    const usageEstimated = this.#call.attributes.estimated ?? false;
    return { ...end, usage: settled(this.#call), usageEstimated };
  }

  /**
   * No more comes, and what is held is all that there is: but for calls, of which nobody knows whether
   * they are complete. @param out gets what can be delivered @throws LintelError as `ask`
   */
  async cutOff(out: LLMResponse[]): Promise<void> {
    // Who waits for nothing more is told nothing more.
    if (this.#call.signal.aborted) return;
    await this.#endThoughts(out);
    await this.#endContent(out);
  }

  async #takeDelta(delta: LLMMessage, out: LLMResponse[]): Promise<void> {
    const { content, toolCalls, images, reasoningContent = "", reasoningDetails = "" } = delta;
    if (reasoningContent !== "") await this.#say("reasoning", reasoningContent, out);
    if (reasoningDetails !== "") this.#thoughts.add({ reasoningDetails });
    if (content !== "") {
      await this.#endThoughts(out);
      await this.#say("content", content, out);
    }
    if (images.length > 0) await this.#draw(images, out);
    this.#calls.push(...toolCalls);
  }

  /** What was said ahead of a picture is delivered ahead of it. */
  async #draw(images: ContentPart[], out: LLMResponse[]): Promise<void> {
    await this.#endThoughts(out);
    await this.#tell("content", false, out);
    if (this.#guard.images) {
      const shown = drawnIn({ role: "assistant", images }, "choices[0].delta");
      await ask(this.#guard, this.#call, "answer", [], shown);
    }
    out.push(this.#piece(imagesChoice(images)));
  }

  /** The answer is over. Before nobody knows of a call that it is complete. */
  async #end(out: LLMResponse[]): Promise<void> {
    await this.#endThoughts(out);
    await this.#endContent(out);
    if (this.#calls.length === 0) return;
    const calls = joinCalls(this.#calls);
    const said = await lookedAt(messageOf("assistant", "", calls), this.#call, [this.#guard]);
    out.push(this.#piece(deltaChoice("", "", said.toolCalls)));
  }

  async #endContent(out: LLMResponse[]): Promise<void> {
    await this.#tell("content", false, out);
    const left = this.#marks?.end() ?? "";
    if (left !== "") out.push(this.#piece(deltaChoice(left, "")));
  }

  /** The model says something: clients have its thoughts ahead of that, so that none can be held any longer. */
  async #endThoughts(out: LLMResponse[]): Promise<void> {
    await this.#tell("reasoning", false, out);
    const { all } = this.#thoughts;
    if (!all.reasoningDetails) return;
    this.#thoughts = new Thoughts();
    const message = Object.assign(messageOf("assistant", ""), all);
    const { reasoningDetails } = await lookedAt(message, this.#call, [this.#guard]);
    out.push(this.#piece(reasoningChoice(reasoningOf("", reasoningDetails))));
  }

  async #say(kind: Kind, text: string, out: LLMResponse[]): Promise<void> {
    this.#texts[kind].held += text;
    await this.#tell(kind, true, out);
  }

  /** Delivers what can be, of a text that is held. @param more whether more of it may come */
  async #tell(kind: Kind, more: boolean, out: LLMResponse[]): Promise<void> {
    const it = this.#texts[kind];
    if (it.held === "") return;
    // Else what is held would be looked at as often as it has pieces.
    if (more && it.seen >= longHeld && it.held.length < it.seen + it.seen / smallPart) return;
    const looked = await this.#look(kind, more);
    it.seen = it.held.length - looked.length;
    if (looked.length === 0) return;
    const { text, replaced } = looked;
    const original = it.held.slice(0, looked.length);
    if (kind === "content") this.#tokens?.look(original, !replaced);
    it.before = endOf(it.before + original);
    it.held = it.held.slice(looked.length);
    if (text === "") return;
    if (kind === "reasoning") {
      out.push(this.#piece(reasoningChoice(reasoningOf(text))));
      return;
    }
    const told = this.#marks?.pass(text, replaced) ?? text;
    if (told === "") return;
    const piece = deltaChoice(told, "");
    out.push(this.#piece(this.#tokens?.with(piece) ?? piece));
  }

  /** How much of what is held was looked at, what it became, and whether something in it was replaced. */
  async #look(
    kind: Kind,
    more: boolean,
  ): Promise<{ length: number; text: string; replaced: boolean }> {
    const { held: text, before } = this.#texts[kind];
    const { checker } = this.#guard;
    if (checker.look) {
      const { upTo, verdict } = checker.look(before, text, more);
      const told = text.slice(0, upTo);
      const heeded = heed(this.#guard, this.#call, "answer", verdict);
      return { length: upTo, ...leftOf(heeded, told) };
    }
    if (more && text.length < pieceLength) return { length: 0, text: "", replaced: false };
    const field = `choices[0].delta.${kind === "content" ? "content" : "reasoning_content"}`;
    const piece = { field, role: "assistant", text, ...(before !== "" && { before }) };
    const verdict = await ask(this.#guard, this.#call, "answer", [piece]);
    return { length: text.length, ...leftOf(verdict, text) };
  }

  #piece(choice: LLMResponse["choices"][number]): LLMResponse {
    return { ...(this.#last as LLMResponse), usage: noUsage, warnings: [], choices: [choice] };
  }
}
