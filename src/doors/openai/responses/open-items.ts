/** Items of an answer while they come, and the events that tell of each. */
import type { ContentPart, TokenLogprob, ToolCall } from "../../../../gen/lintel/v1/chat_pb.js";
import { toJsonString } from "../../../core/json-string.js";
import type { Stamp } from "../../../core/stamp.js";
import { toolCall } from "../../../core/tool-calls.js";
import type { EventSink } from "../../json/sse.js";
import { TextEvents } from "../../json/text-events.js";
import {
  type CallWords,
  callItem,
  idOf,
  messageItem,
  type Status,
  textPart,
  wordsOf,
} from "./answer.js";
import { tokensText } from "./logprobs.js";
import type { Namespaces } from "./namespaces.js";
import { begunImage, imageItem } from "./picture.js";

/** An event: its type, and what it says besides, as members of an object. */
export type Said = readonly [type: string, members: string];

/** Where an item stands. */
export interface Where {
  readonly stamp: Stamp;
  /** Its position in the answer. */
  readonly index: number;
}

/** An item that comes in pieces. */
export interface Item {
  readonly isOpen: boolean;
  opening(): Said[];
  /** Ends it. */
  close(status: Status): Said[];
  /** As it stands, as JSON text: what broke off has what came of it. */
  text(): string;
}

/** What events of a piece of text begin with. @param at where it stands, as members of an object */
export const deltaHead = (type: string, at: string): string =>
  `event: ${type}\ndata: {"type":"${type}",${at},"delta":"`;

/** Says that an item is there. */
export const added = ({ index }: Where, item: string): Said => [
  "response.output_item.added",
  `"output_index":${index},"item":${item}`,
];

/** Says that an item is complete. */
export const done = ({ index }: Where, item: string): Said => [
  "response.output_item.done",
  `"output_index":${index},"item":${item}`,
];

const deltaType = "response.output_text.delta";

/** What the model says. */
export class MessageItem implements Item {
  readonly #where: Where;
  #status: Status = "in_progress";
  #text = "";
  /** Its tokens; absent: nobody asks for them, or tells. */
  #tokens: TokenLogprob[] | undefined;
  readonly #deltas = new TextEvents();

  constructor(where: Where) {
    this.#where = where;
  }

  get isOpen(): boolean {
    return this.#status === "in_progress";
  }

  opening(): Said[] {
    const { stamp, index } = this.#where;
    const begun = messageItem(stamp, index, "", "in_progress");
    return [
      added(this.#where, begun),
      ["response.content_part.added", `${this.#part},"part":${textPart("")}`],
    ];
  }

  /** A piece of text. @param number of the event */
  add(text: string, number: number, to: EventSink): void {
    this.#text += text;
    if (!this.#deltas.begun) {
      this.#deltas.begin(deltaHead(deltaType, this.#part), '","logprobs":[],"sequence_number":');
    }
    this.#deltas.write(text, to, `${number}}\n\n`);
  }

  /** The same with its tokens: an event. */
  addTold(text: string, tokens: readonly TokenLogprob[]): Said {
    this.#text += text;
    this.#tokens ??= [];
    for (const token of tokens) this.#tokens.push(token);
    const told = `"delta":${toJsonString(text)},"logprobs":${tokensText(tokens)}`;
    return [deltaType, `${this.#part},${told}`];
  }

  close(status: Status): Said[] {
    this.#status = status;
    const tokens = tokensText(this.#tokens ?? []);
    const text = `"text":${toJsonString(this.#text)},"logprobs":${tokens}`;
    return [
      ["response.output_text.done", `${this.#part},${text}`],
      ["response.content_part.done", `${this.#part},"part":${textPart(this.#text, tokens)}`],
      done(this.#where, this.text()),
    ];
  }

  text(): string {
    const { stamp, index } = this.#where;
    const status = this.isOpen ? "incomplete" : this.#status;
    return messageItem(stamp, index, this.#text, status, tokensText(this.#tokens ?? []));
  }

  get #part(): string {
    const { stamp, index } = this.#where;
    return `"item_id":"${idOf("msg", stamp, index)}","output_index":${index},"content_index":0`;
  }
}

/** An item that is there at once. */
export class WholeItem implements Item {
  readonly isOpen = false;
  readonly #where: Where;
  readonly #text: string;

  /** @param text as JSON */
  constructor(where: Where, text: string) {
    this.#where = where;
    this.#text = text;
  }

  opening(): Said[] {
    return [added(this.#where, this.#text), done(this.#where, this.#text)];
  }

  close(): Said[] {
    return [];
  }

  text(): string {
    return this.#text;
  }
}

/** A picture, which is there at once; of one that is being made OpenAI's clients hear first. */
export class ImageItem extends WholeItem {
  readonly #where: Where;
  readonly #id: string;

  constructor(where: Where, image: ContentPart) {
    const id = idOf("ig", where.stamp, where.index);
    super(where, imageItem(id, image, "completed"));
    this.#where = where;
    this.#id = id;
  }

  override opening(): Said[] {
    const at = `"item_id":"${this.#id}","output_index":${this.#where.index}`;
    return [
      added(this.#where, begunImage(this.#id)),
      ["response.image_generation_call.in_progress", at],
      ["response.image_generation_call.completed", at],
      done(this.#where, this.text()),
    ];
  }
}

/** A call of a tool. */
export class CallItem implements Item {
  readonly #where: Where;
  readonly #id: string;
  readonly #type: string;
  readonly #words: CallWords;
  readonly #namespaces: Namespaces;
  readonly #name: string;
  #arguments = "";
  #extra = "";
  #status: Status = "in_progress";

  /** @param first its first piece, whose arguments are to be added, too */
  constructor(where: Where, first: ToolCall, namespaces: Namespaces) {
    this.#where = where;
    this.#id = first.id;
    this.#type = first.type;
    this.#words = wordsOf(first, namespaces);
    this.#namespaces = namespaces;
    this.#name = first.function?.name ?? "";
  }

  get isOpen(): boolean {
    return this.#status === "in_progress";
  }

  opening(): Said[] {
    return [added(this.#where, this.#as("in_progress"))];
  }

  /** A piece of it. The first alone has the name. */
  add({ function: called, extraContent }: ToolCall): Said[] {
    const { arguments: args = "" } = called ?? {};
    this.#arguments += args;
    this.#extra = extraContent || this.#extra;
    const { events } = this.#words;
    if (args === "" || events === undefined) return [];
    return [[`${events}.delta`, `${this.#at},"delta":${toJsonString(args)}`]];
  }

  close(status: Status): Said[] {
    this.#status = status;
    const { name } = this.#namespaces.get(this.#name) ?? { name: this.#name };
    const { id, said, events } = this.#words;
    // Of the other type OpenAI tells no name there.
    const named = id === "fc" ? `"name":${toJsonString(name)},` : "";
    const whole = `${named}"${said}":${toJsonString(this.#arguments)}`;
    const item = done(this.#where, this.text());
    return events === undefined ? [item] : [[`${events}.done`, `${this.#at},${whole}`], item];
  }

  text(): string {
    return this.#as(this.isOpen ? "incomplete" : this.#status);
  }

  #as(status: Status): string {
    const { stamp, index } = this.#where;
    const call = toolCall(0, this.#id, this.#name, this.#arguments, this.#extra);
    return callItem(stamp, index, { ...call, type: this.#type }, status, this.#namespaces);
  }

  get #at(): string {
    const { stamp, index } = this.#where;
    return `"item_id":"${idOf(this.#words.id, stamp, index)}","output_index":${index}`;
  }
}
