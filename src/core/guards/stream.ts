/**
 * Streamed answers: each piece is delivered once a guard has looked at it. What the model says, and what
 * it thinks, are texts that go on; of both as much of the end is held back as the guard needs. The details
 * of thoughts are delivered when they are complete, and calls of tools at the end.
 */
import type { LLMMessage, LLMResponse, ToolCall } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import { deltaChoice, messageOf } from "../chat-messages.js";
import { LintelError } from "../errors.js";
import { iterable } from "../iterate.js";
import { reasoningChoice, reasoningOf, Thoughts } from "../reasoning.js";
import { settled } from "../settle.js";
import { noUsage } from "../stamp.js";
import { joinCalls } from "../tool-calls.js";
import { lookedAt } from "./answer.js";
import { ask, heed } from "./ask.js";
import type { Guard } from "./guard.js";

type Batch = readonly LLMResponse[];
type Kind = "content" | "reasoning";

/** Characters of a text after which a guard that holds nothing back itself is asked about them. */
const pieceLength = 500;
/** Characters ahead of a piece that it is shown with: what it means may begin there. */
const shownBefore = 256;

/**
 * The pieces of a streamed completion as one guard leaves them.
 * @param stop ends what makes the pieces: nobody reads on
 */
export const guardedStream = (
  source: AsyncIterable<Batch>,
  call: Call,
  guard: Guard,
  stop: (reason: LintelError) => void,
): AsyncIterable<Batch> =>
  iterable(async function* () {
    const stream = new GuardedStream(call, guard);
    let delivered = false;
    for await (const batch of source) {
      const out: LLMResponse[] = [];
      let thrown: unknown;
      try {
        for (const message of batch) await stream.take(message, out);
      } catch (reason) {
        thrown = reason;
      }
      // What was looked at is delivered, whatever is thought of what follows.
      delivered ||= out.length > 0;
      if (out.length > 0) yield out;
      if (thrown === undefined) continue;
      if (!delivered || !isBlock(thrown)) throw thrown;
      stop(thrown);
      yield [stream.blockedEnd()];
      return;
    }
  });

const isBlock = (thrown: unknown): thrown is LintelError =>
  thrown instanceof LintelError && thrown.code === "content_blocked";

/** What one guard makes of one stream. */
class GuardedStream {
  readonly #call: Call;
  readonly #guard: Guard;
  /** The last message, of which those that are made have their stamp. */
  #last: LLMResponse | undefined;
  /** What the texts that are held are of. */
  #kind: Kind = "content";
  #held = "";
  /** The end of what was looked at before these. */
  #before = "";
  #thoughts = new Thoughts();
  #calls: ToolCall[] = [];

  constructor(call: Call, guard: Guard) {
    this.#call = call;
    this.#guard = guard;
  }

  /** Takes a message. @param out gets what can be delivered @throws LintelError as `ask` */
  async take(message: LLMResponse, out: LLMResponse[]): Promise<void> {
    this.#last = message;
    const [choice] = message.choices;
    const { delta, finishReason = "" } = choice ?? {};
    if (delta) await this.#takeDelta(delta, out);
    if (finishReason === "") return;
    await this.#end(out);
    // Its text is among those that were looked at.
    out.push({ ...message, choices: [deltaChoice("", finishReason)] });
  }

  /** The last message of an answer that was blocked, with what the model took so far. */
  blockedEnd(): LLMResponse {
    const end = this.#piece(deltaChoice("", "content_filter"));
    const usageEstimated = this.#call.attributes.estimated ?? false;
    return { ...end, usage: settled(this.#call), usageEstimated };
  }

  async #takeDelta(delta: LLMMessage, out: LLMResponse[]): Promise<void> {
    const { content, toolCalls, reasoningContent = "", reasoningDetails = "" } = delta;
    if (reasoningContent !== "") await this.#say("reasoning", reasoningContent, out);
    if (reasoningDetails !== "") {
      await this.#turnTo("reasoning", out);
      this.#thoughts.add({ reasoningDetails });
    }
    if (content !== "") await this.#say("content", content, out);
    this.#calls.push(...toolCalls);
  }

  /** Something else follows: what is held of a text is all that there is. */
  async #endText(out: LLMResponse[]): Promise<void> {
    await this.#tell(false, out);
    this.#before = "";
    await this.#tellThoughts(out);
  }

  /** The answer is over. Before nobody knows of a call that it is complete. */
  async #end(out: LLMResponse[]): Promise<void> {
    await this.#endText(out);
    if (this.#calls.length === 0) return;
    const calls = joinCalls(this.#calls);
    this.#calls = [];
    const said = await lookedAt(messageOf("assistant", "", calls), this.#call, [this.#guard]);
    out.push(this.#piece(deltaChoice("", "", said.toolCalls)));
  }

  async #tellThoughts(out: LLMResponse[]): Promise<void> {
    const { all } = this.#thoughts;
    if (!all.reasoningDetails) return;
    this.#thoughts = new Thoughts();
    const message = Object.assign(messageOf("assistant", ""), all);
    const { reasoningDetails } = await lookedAt(message, this.#call, [this.#guard]);
    out.push(this.#piece(reasoningChoice(reasoningOf("", reasoningDetails))));
  }

  async #say(kind: Kind, text: string, out: LLMResponse[]): Promise<void> {
    await this.#turnTo(kind, out);
    this.#held += text;
    await this.#tell(true, out);
  }

  /** What follows is of a kind: what is held of another is complete. */
  async #turnTo(kind: Kind, out: LLMResponse[]): Promise<void> {
    if (kind !== this.#kind) await this.#endText(out);
    this.#kind = kind;
  }

  /** Delivers what can be, of the text that is held. @param more whether more of it may come */
  async #tell(more: boolean, out: LLMResponse[]): Promise<void> {
    if (this.#held === "") return;
    const looked = await this.#look(more);
    if (looked.length === 0) return;
    const all = this.#held;
    this.#before = (this.#before + all.slice(0, looked.length)).slice(-shownBefore);
    this.#held = all.slice(looked.length);
    if (looked.text === "") return;
    const choice =
      this.#kind === "content"
        ? deltaChoice(looked.text, "")
        : reasoningChoice(reasoningOf(looked.text));
    out.push(this.#piece(choice));
  }

  /** How much of what is held was looked at, and what it became. */
  async #look(more: boolean): Promise<{ length: number; text: string }> {
    const [text, before] = [this.#held, this.#before];
    const { checker } = this.#guard;
    if (checker.look) {
      const { upTo, verdict } = checker.look(before, text, more);
      const told = text.slice(0, upTo);
      const heeded = heed(this.#guard, this.#call, "answer", verdict);
      return { length: upTo, text: heeded.action === "replace" ? (heeded.texts[0] ?? told) : told };
    }
    if (more && text.length < pieceLength) return { length: 0, text: "" };
    const field = `choices[0].delta.${this.#kind === "content" ? "content" : "reasoning_content"}`;
    const piece = { field, role: "assistant", text, ...(before !== "" && { before }) };
    const verdict = await ask(this.#guard, this.#call, "answer", [piece]);
    return {
      length: text.length,
      text: verdict.action === "replace" ? (verdict.texts[0] ?? text) : text,
    };
  }

  #piece(choice: LLMResponse["choices"][number]): LLMResponse {
    return { ...(this.#last as LLMResponse), usage: noUsage, warnings: [], choices: [choice] };
  }
}
