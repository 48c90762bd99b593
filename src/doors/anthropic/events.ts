/** Answers of the Messages API as streams of events. */
import type { LLMResponse, ToolCall } from "../../../gen/lintel/v1/chat_pb.js";
import type { LintelError } from "../../core/errors.js";
import type { Running } from "../../core/gateway.js";
import { toJsonLine, toJsonString } from "../../core/json-string.js";
import { type Reasoning, Thoughts } from "../../core/reasoning.js";
import { newStamp } from "../../core/stamp.js";
import { extras } from "../json/chat.js";
import { type EventEncoder, type EventSink, typedEvent } from "../json/sse.js";
import { TextEvents } from "../json/text-events.js";
import { Totals } from "../json/totals.js";
import {
  endText,
  messageHead,
  textBlock,
  thinkingBlock,
  toolBlock,
  usageText,
  withoutImages,
} from "./answer.js";
import { CallsInTurn } from "./calls-in-turn.js";
import { messagesError } from "./error.js";
import { lateExtra, signatureOf } from "./signature.js";

/**
 * Writes the messages of one stream as events.
 * @param running says what a stream that fails has no message for: the model
 * @param asked names the model of one that fails before its model is found
 * @param notes warnings of the door itself
 * @param hidesThoughts whether of thoughts only the signature is told
 * @param inJson whether what is said is JSON, which clients read from one block
 */
export const messageEncoder = (
  running: Pick<Running<"chat">, "model">,
  asked: string,
  notes: readonly string[] = [],
  hidesThoughts = false,
  inJson = false,
): EventEncoder<"chat"> => new MessageEncoder(running, asked, notes, hidesThoughts, inJson);

/** What a block is that comes in pieces of text. */
type Kind = "text" | "thinking";

class MessageEncoder implements EventEncoder<"chat"> {
  readonly plainEnd = true;
  readonly #running: Pick<Running<"chat">, "model">;
  readonly #asked: string;
  readonly #totals: Totals;
  readonly #hidesThoughts: boolean;
  readonly #inJson: boolean;
  #begun = false;
  /** How many blocks there are. */
  #count = 0;
  /** What is being said, thought or called, and where. */
  #open: { readonly kind: Kind | "tool_use"; readonly index: number } | undefined;
  readonly #deltas = new TextEvents();
  /** Blanks with which a text may begin, or which templates have ahead of calls: of these alone Anthropic makes no block, and takes none. */
  #blank = "";
  /** What the model server wants to see again of what is being thought, and what nobody is to see of it. */
  #thoughts: Thoughts | undefined;
  /** What was thought in the middle of what is said in JSON. */
  #aside = "";
  /** Places of calls, by their index, and their ids. */
  readonly #calls = new Map<number, { readonly index: number; readonly id: string }>();
  readonly #turns = new CallsInTurn();
  /** What was said or thought in the middle of a call: clients read its arguments where its block ends. */
  readonly #held: { readonly kind: Kind; text: string }[] = [];
  #hasImages = false;
  #finishReason = "";
  #stopSequence: string | undefined;

  constructor(...given: Required<Parameters<typeof messageEncoder>>) {
    const [running, asked, notes, hidesThoughts, inJson] = given;
    this.#running = running;
    this.#asked = asked;
    this.#hidesThoughts = hidesThoughts;
    this.#inJson = inJson;
    this.#totals = new Totals(notes);
  }

  messages(batch: readonly LLMResponse[], to: EventSink): void {
    for (const message of batch) {
      if (!this.#begun) to.add(this.#begin(message));
      this.#totals.take(message);
      const choice = message.choices[0];
      if (!choice) continue;
      const { delta } = choice;
      if (delta && delta.images.length > 0) this.#hasImages = true;
      if (delta?.reasoningContent) this.#think(delta.reasoningContent, to);
      if (delta?.reasoningDetails) this.#note({ reasoningDetails: delta.reasoningDetails }, to);
      if (delta?.content) this.#say("text", delta.content, to);
      for (const call of delta?.toolCalls ?? []) to.add(this.#called(this.#turns.take(call)));
      if (this.#held.length > 0 && !this.#turns.isOpen) to.add(this.#tellHeld());
      if (choice.finishReason === "") continue;
      this.#finishReason = choice.finishReason;
      this.#stopSequence = choice.stopSequence;
    }
  }

  end(): string {
    const begun = this.#begun ? "" : this.#begin();
    const blank = this.#tellBlank();
    // Many a client looks for a text in any answer.
    const silent = this.#count === 0 ? this.#opening("text") : "";
    const calls = this.#called(this.#turns.end()) + this.#tellHeld() + this.#close();
    // What came too late for another block.
    const late = this.#thoughts || this.#aside !== "" ? this.#tellLate() : "";
    const delta = `"delta":{${endText(this.#finishReason, this.#stopSequence)}}`;
    const { usage, estimated, warnings } = this.#totals;
    if (this.#turns.hasRest) warnings.push(leftOut);
    if (this.#hasImages) warnings.push(withoutImages);
    const last = `${delta},"usage":${usageText(usage)}${extras(estimated, warnings)}`;
    return (
      begun +
      blank +
      silent +
      calls +
      late +
      typedEvent("message_delta", last) +
      typedEvent("message_stop")
    );
  }

  failure(error: LintelError): string {
    const begun = this.#begun ? "" : this.#begin();
    return `${begun}event: error\ndata: ${toJsonLine(messagesError(error))}\n\n`;
  }

  #begin(stamp?: LLMResponse): string {
    this.#begun = true;
    const head = messageHead(stamp ?? newStamp(this.#running.model ?? this.#asked));
    const message = `{${head},"content":[],"stop_reason":null,"stop_sequence":null,"usage":${usageText(undefined)}}`;
    return typedEvent("message_start", `"message":${message}`);
  }

  #say(kind: Kind, text: string, to: EventSink): void {
    if (this.#open?.kind === kind) {
      this.#deltas.write(text, to);
      return;
    }
    const said = kind === "text" ? this.#blank + text : text;
    const isBlank = kind === "text" && said.trim() === "";
    this.#blank = isBlank ? said : "";
    if (isBlank) return;
    if (this.#turns.isOpen) {
      this.#hold(kind, said);
      return;
    }
    to.add(this.#called(this.#turns.end()) + this.#close() + this.#opening(kind));
    this.#deltas.write(said, to);
  }

  #hold(kind: Kind, text: string): void {
    const last = this.#held.at(-1);
    if (last?.kind === kind) last.text += text;
    else this.#held.push({ kind, text });
  }

  #tellHeld(): string {
    const told = this.#held.splice(0).map(({ kind, text }) => {
      const begun = this.#close() + this.#opening(kind);
      return (
        begun + delta(this.#count - 1, `"type":"${kind}_delta","${kind}":${toJsonString(text)}`)
      );
    });
    return told.join("");
  }

  /** What is said where that is nothing else. */
  #tellBlank(): string {
    if (this.#blank === "" || this.#calls.size > 0) return "";
    const begun = this.#close() + this.#opening("text");
    return (
      begun + delta(this.#count - 1, `"type":"text_delta","text":${toJsonString(this.#blank)}`)
    );
  }

  #think(reasoningContent: string, to: EventSink): void {
    if (this.#hidesThoughts) this.#note({ reasoningContent }, to);
    else if (this.#inJson && this.#open?.kind === "text") this.#aside += reasoningContent;
    else this.#say("thinking", reasoningContent, to);
  }

  #note(thought: Reasoning, to: EventSink): void {
    // No reason to end a call.
    if (this.#open?.kind === "text" && !this.#inJson) to.add(this.#close());
    if (!this.#open) to.add(this.#opening("thinking"));
    this.#thoughts ??= new Thoughts();
    this.#thoughts.add(thought);
  }

  #tellLate(): string {
    const begun = this.#opening("thinking");
    const text = `"type":"thinking_delta","thinking":${toJsonString(this.#aside)}`;
    const told = this.#aside === "" ? "" : delta(this.#count - 1, text);
    return begun + told + this.#close();
  }

  #opening(kind: Kind): string {
    const index = this.#count++;
    this.#open = { kind, index };
    const head = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{`;
    this.#deltas.begin(`${head}"type":"${kind}_delta","${kind}":"`, '"}}\n\n');
    const block = kind === "text" ? textBlock("") : thinkingBlock("", "");
    return typedEvent("content_block_start", `"index":${index},"content_block":${block}`);
  }

  /** Ends what is being said, thought or called. */
  #close(): string {
    if (!this.#open) return "";
    const { kind, index } = this.#open;
    this.#open = undefined;
    if (kind !== "thinking") return stopped(index);
    const { reasoningDetails = "", reasoningContent } = this.#thoughts?.all ?? {};
    this.#thoughts = undefined;
    const signature = signatureOf(reasoningDetails, reasoningContent);
    const signed = `"type":"signature_delta","signature":${toJsonString(signature)}`;
    return delta(index, signed) + stopped(index);
  }

  #called(pieces: readonly ToolCall[]): string {
    return pieces.map((piece) => this.#call(piece)).join("");
  }

  #call(call: ToolCall): string {
    let said = "";
    let known = this.#calls.get(call.index);
    if (!known) {
      this.#blank = "";
      said = this.#close();
      known = { index: this.#count++, id: call.id };
      this.#open = { kind: "tool_use", index: known.index };
      this.#calls.set(call.index, known);
      const block = toolBlock(call, "{}");
      said += typedEvent("content_block_start", `"index":${known.index},"content_block":${block}`);
    } else if (call.extraContent !== "") {
      // A block has a place for it where it begins alone.
      this.#thoughts ??= new Thoughts();
      this.#thoughts.add({ reasoningDetails: lateExtra(known.id, call.extraContent) });
    }
    const args = call.function?.arguments ?? "";
    if (args === "") return said;
    return (
      said + delta(known.index, `"type":"input_json_delta","partial_json":${toJsonString(args)}`)
    );
  }
}

const leftOut = "tools: what stood behind the arguments of a call was left out";

const delta = (index: number, members: string): string =>
  typedEvent("content_block_delta", `"index":${index},"delta":{${members}}`);

const stopped = (index: number): string => typedEvent("content_block_stop", `"index":${index}`);
