/** Answers of the Responses API as streams of events. */
import type { LLMResponse, TokenLogprob, ToolCall } from "../../../../gen/lintel/v1/chat_pb.js";
import { isOverflow, type LintelError, overflow } from "../../../core/errors.js";
import type { Running } from "../../../core/gateway.js";
import { toJsonLine } from "../../../core/json-string.js";
import { type Reasoning, Thoughts } from "../../../core/reasoning.js";
import { newStamp, type Stamp } from "../../../core/stamp.js";
import { errorObject } from "../../json/error.js";
import { type EventEncoder, type EventSink, typedEvent } from "../../json/sse.js";
import { Totals } from "../../json/totals.js";
import { endingOf, Loading, responseText, type State, type Status } from "./answer.js";
import type { Echo } from "./echo.js";
import { wordsOfFailure } from "./failures.js";
import { CallItem, ImageItem, type Item, MessageItem, WholeItem } from "./open-items.js";
import { ReasoningItem } from "./reasoning-item.js";

/**
 * Writes the messages of one stream as events.
 * @param running says what a stream that fails has no message for: the model
 * @param asked names the model of one that fails before its model is found
 * @param notes warnings of the door itself
 * @param beats whether the client has to hear events, lest it gives up
 */
export const responseEncoder = (
  running: Pick<Running<"chat">, "model">,
  asked: string,
  echo: Echo,
  notes: readonly string[] = [],
  beats = false,
): EventEncoder<"chat"> => new ResponseEncoder(running, asked, echo, notes, beats);

/** A class, since each stream would keep a closure for each of its parts. */
class ResponseEncoder implements EventEncoder<"chat"> {
  readonly plainEnd = true;
  readonly #running: Pick<Running<"chat">, "model">;
  readonly #asked: string;
  readonly #echo: Echo;
  readonly #loading: Loading;
  readonly #totals: Totals;
  readonly #beats: boolean;
  #stamp: Stamp | undefined;
  /** Number of the next event. */
  #number = 0;
  readonly #items: Item[] = [];
  /** What is being said: calls end it, and thoughts unless it is JSON, which has to be in one item. */
  #saying: MessageItem | undefined;
  /** What is being thought: all else ends it. */
  #thinking: ReasoningItem | undefined;
  /** What a model server wants to see again, and told only beside something else. */
  #late: Thoughts | undefined;
  /** Calls by their index. They end with the answer: pieces of several may come in turns. */
  readonly #calls = new Map<number, CallItem>();
  #finishReason = "";

  constructor(...given: Required<Parameters<typeof responseEncoder>>) {
    const [running, asked, echo, notes, beats] = given;
    this.#running = running;
    this.#asked = asked;
    this.#echo = echo;
    this.#loading = new Loading(echo.loads);
    this.#totals = new Totals(notes);
    this.#beats = beats;
  }

  /** OpenAI's own, which not all clients know. */
  get keepAlive(): string | undefined {
    if (!this.#beats) return undefined;
    return typedEvent("keepalive", `"sequence_number":${this.#number++}`);
  }

  messages(batch: readonly LLMResponse[], to: EventSink): void {
    for (const message of batch) {
      if (!this.#stamp) to.add(this.#begin(message));
      this.#totals.take(message);
      const choice = message.choices[0];
      if (!choice) continue;
      const { delta } = choice;
      const { content = "", toolCalls = [] } = delta ?? {};
      if (delta?.reasoningContent || delta?.reasoningDetails) this.#think(delta, to);
      if (content !== "") this.#say(content, choice.logprobs?.content, to);
      for (const image of delta?.images ?? []) {
        const before = this.#endText();
        to.add(before + this.#open(new ImageItem(this.#place(), image)));
      }
      for (const call of toolCalls) to.add(this.#call(call));
      if (choice.finishReason !== "") this.#finishReason = choice.finishReason;
    }
  }

  end(): string {
    const begun = this.#stamp ? "" : this.#begin();
    const { status, reason } = endingOf(this.#finishReason);
    const silent = this.#items.length === 0 ? this.#open(new MessageItem(this.#place())) : "";
    const closed = this.#close(status) + this.#tellLate();
    const state = {
      status,
      usage: this.#totals.usage,
      tier: this.#totals.tier,
      estimated: this.#totals.estimated,
      warnings: this.#totals.warnings,
      ...(reason !== undefined && { reason }),
    };
    return begun + silent + closed + this.#response(`response.${status}`, state);
  }

  /**
   * Two events: the first is an error to OpenAI's own clients, which take the second for an answer
   * like any other; Codex reads the second alone.
   */
  failure(error: LintelError): string {
    const begun = this.#stamp ? "" : this.#begin();
    const said = isOverflow(error) ? { ...errorObject(error), code: overflow } : errorObject(error);
    const { code, message, param } = said;
    const told = this.#event(
      "error",
      toJsonLine({ code, message, param, error: said }).slice(1, -1),
    );
    const state = { status: "failed", error: wordsOfFailure(error) } as const;
    return begun + told + this.#response("response.failed", state);
  }

  /** As OpenAI has it: Codex makes a conversation shorter by these events alone. */
  isToldInStream(error: LintelError): boolean {
    return isOverflow(error);
  }

  #begin(stamp?: Stamp): string {
    this.#stamp = stamp && { id: stamp.id, created: stamp.created, model: stamp.model };
    this.#stamp ??= newStamp(this.#running.model ?? this.#asked);
    const state = { status: "in_progress" } as const;
    return (
      this.#response("response.created", state) + this.#response("response.in_progress", state)
    );
  }

  #say(content: string, tokens: readonly TokenLogprob[] | undefined, to: EventSink): void {
    if (!this.#saying) {
      const before = this.#endText();
      this.#saying = new MessageItem(this.#place());
      to.add(before + this.#open(this.#saying));
    }
    if (tokens) to.add(this.#written([this.#saying.addTold(content, tokens)]));
    else this.#saying.add(content, this.#number++, to);
  }

  #think(thought: Reasoning, to: EventSink): void {
    const { reasoningContent: text = "" } = thought;
    if (!this.#thinking) {
      if (text === "" && this.#items.length > 0) {
        // No reason to end what is being said.
        this.#late ??= new Thoughts();
        this.#late.add(thought);
        return;
      }
      const before = this.#echo.inJson ? "" : this.#endText();
      this.#thinking = new ReasoningItem(this.#place(), this.#late);
      this.#late = undefined;
      to.add(before + this.#open(this.#thinking));
    }
    this.#thinking.keep(thought);
    if (text === "") return;
    if (!this.#thinking.hasText) to.add(this.#written(this.#thinking.begin()));
    this.#thinking.add(text, this.#number++, to);
  }

  /** Ends what is said and thought: something else follows. */
  #endText(): string {
    const [said, thought] = [this.#saying, this.#thinking];
    this.#saying = undefined;
    this.#thinking = undefined;
    const ended = said ? this.#written(said.close("completed")) : "";
    return thought ? ended + this.#written(thought.close("completed")) : ended;
  }

  /** An item of what came too late for another. */
  #tellLate(): string {
    if (!this.#late) return "";
    const item = new ReasoningItem(this.#place(), this.#late);
    return this.#open(item) + this.#written(item.close("completed"));
  }

  #call(piece: ToolCall): string {
    let said = "";
    let call = this.#calls.get(piece.index);
    if (!call) {
      said = this.#endText();
      const stamp = this.#stamp as Stamp;
      for (const item of this.#loading.before(piece, stamp, this.#items.length)) {
        said += this.#open(new WholeItem(this.#place(), item));
      }
      call = new CallItem(this.#place(), piece, this.#echo.namespaces);
      this.#calls.set(piece.index, call);
      said += this.#open(call);
    }
    return said + this.#written(call.add(piece));
  }

  #place() {
    return { stamp: this.#stamp as Stamp, index: this.#items.length };
  }

  #open(item: Item): string {
    this.#items.push(item);
    return this.#written(item.opening());
  }

  /** Ends what is open; of an answer that is incomplete it is what is being said, or the last item, that is so. */
  #close(status: Status): string {
    const last = this.#saying ?? this.#items.at(-1);
    return this.#items
      .filter((item) => item.isOpen)
      .map((item) => this.#written(item.close(item === last ? status : "completed")))
      .join("");
  }

  #response(type: string, state: Omit<State, "output">): string {
    const output = this.#items.map((item) => item.text());
    const text = responseText(this.#stamp as Stamp, { ...state, output }, this.#echo);
    return this.#event(type, `"response":${text}`);
  }

  #written(events: readonly (readonly [type: string, members: string])[]): string {
    return events.map(([type, members]) => this.#event(type, members)).join("");
  }

  #event(type: string, members: string): string {
    return typedEvent(type, `${members},"sequence_number":${this.#number++}`);
  }
}
