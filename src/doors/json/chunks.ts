/** Chat completions as JSON, in chunks. */
import type {
  LLMChoice,
  LLMMessage,
  LLMResponse,
  ToolCall,
} from "../../../gen/lintel/v1/chat_pb.js";
import type { TokenCounts } from "../../core/call-attributes.js";
import { tokenUsage } from "../../core/chat-messages.js";
import type { LintelError } from "../../core/errors.js";
import type { Running } from "../../core/gateway.js";
import { toJsonLine, toJsonString } from "../../core/json-string.js";
import { inOnePiece, putTogether } from "../../core/one-piece.js";
import { newStamp, type Stamp } from "../../core/stamp.js";
import { callsText, extras, reasoningText, stopText, tierText, usageText } from "./chat.js";
import { imagesText } from "./drawn.js";
import { errorObject } from "./error.js";
import { logprobsText } from "./logprobs.js";
import { type EventEncoder, type EventSink, event } from "./sse.js";
import { TextEvents } from "./text-events.js";
import { Totals } from "./totals.js";

/** The forms of a stream: the contract's, and what OpenAI's clients know. */
export interface ChunkForm {
  /**
   * The contract's: every `delta` says its role and content, and a failure is a chunk, too.
   * Else only what adds something is said, and a failure is an `error` alone.
   */
  readonly fullDelta: boolean;
  /** Where `usage` stands: in every chunk, in one more chunk at the end, or nowhere. */
  readonly usage: "every" | "extra" | "none";
  /** Whether thoughts stand in `reasoning`, too. Default: in `reasoning_content` alone. */
  readonly alsoReasoning?: boolean;
  /** Which choice it is. Default: the only one. */
  readonly index?: number;
}

/**
 * Writes the messages of one stream as chunks. What is the same in all of them
 * is made into text once.
 * @param running says what a stream that fails has no message for: the counts, and the model
 * @param asked names the model of one that fails before its model is found
 * @param notes warnings of the door itself
 */
export const chunkEncoder = (
  form: ChunkForm,
  running: Pick<Running<"chat">, "model" | "counts">,
  asked: string,
  notes: readonly string[] = [],
): EventEncoder<"chat"> => new ChunkEncoder(form, running, asked, notes);

/** A class, since each stream would keep a closure for each of its parts. */
class ChunkEncoder implements EventEncoder<"chat"> {
  readonly #form: ChunkForm;
  readonly #running: Pick<Running<"chat">, "model" | "counts">;
  readonly #asked: string;
  readonly #totals: Totals;
  /** What a choice begins with. */
  readonly #choice: string;
  /** What every chunk begins with. */
  #open: string | undefined;
  readonly #content = new TextEvents();
  readonly #thoughts = new TextEvents();
  #started = false;
  /** Pictures so far. */
  #drawn = 0;

  constructor(...given: Required<Parameters<typeof chunkEncoder>>) {
    const [form, running, asked, notes] = given;
    this.#form = form;
    this.#running = running;
    this.#asked = asked;
    this.#totals = new Totals(notes);
    const { index = 0 } = form;
    this.#choice = index === 0 ? firstChoice : `{"index":${index},"delta":{`;
  }

  messages(batch: readonly LLMResponse[], to: EventSink): void {
    for (const message of batch) {
      this.#open ??= opening(message);
      this.#totals.take(message);
      const choice = message.choices[0];
      if (!choice) continue;
      if (choice.logprobs) {
        // OpenAI's client counts tokens of a first chunk twice: as OpenAI's does, it says who speaks and nothing else.
        if (!this.#started && !this.#form.fullDelta) to.add(event(this.#open + this.#delta("")));
        to.add(event(this.#open + this.#withTokens(choice)));
        continue;
      }
      const { delta, finishReason } = choice;
      const { content = "", toolCalls = [] } = delta ?? {};
      if (delta?.reasoningContent) {
        if (this.#form.alsoReasoning) to.add(event(this.#open + this.#thought(delta)));
        else this.#text(delta.reasoningContent, "reasoning_content", this.#thoughts, to);
      }
      if (delta?.reasoningDetails) to.add(event(this.#open + this.#details(delta)));
      if (content !== "") this.#text(content, "content", this.#content, to);
      if (delta && delta.images.length > 0) {
        to.add(event(this.#open + this.#delta(imagesText(delta.images, this.#drawn))));
        this.#drawn += delta.images.length;
      }
      if (toolCalls.length > 0) to.add(event(this.#open + this.#calls(toolCalls)));
      if (finishReason !== "") {
        const stop = stopText(choice.stopSequence);
        to.add(event(this.#open + this.#last(finishReason, this.#ending(), stop)));
      }
    }
  }

  end(): string {
    if (this.#form.usage !== "extra" || this.#open === undefined) return "";
    const tier = tierText(this.#totals.tier);
    return event(`${this.#open}]${this.#counts()}${tier}${this.#extra()}}`);
  }

  failure(error: LintelError): string {
    const said = `"error":${toJsonLine(errorObject(error))}`;
    const { fullDelta, usage } = this.#form;
    // Clients that check events against schemas take one with choices for a chunk, and drop its error.
    if (!fullDelta) return event(`{${said}}`);
    const { model = this.#asked, counts } = this.#running;
    this.#open ??= opening(newStamp(model));
    const counted = usage === "every" ? delivered(counts) : middleUsage[usage];
    return event(this.#open + this.#last("error", `${counted},${said}`));
  }

  #text(text: string, member: keyof typeof aheadOf, events: TextEvents, to: EventSink): void {
    const { fullDelta, usage } = this.#form;
    if (!events.begun) {
      const [full, short] = aheadOf[member];
      const begin = `data: ${this.#open}${this.#choice}${this.#full ? full : short}`;
      events.begin(begin, behindText[usage]);
    }
    events.write(text, to);
    // Of another form than the contract's, the first one alone says the role.
    if (!this.#started && !fullDelta) events.forget();
    this.#started = true;
  }

  /** All that a message says, in one chunk: its tokens are none of the text's alone. */
  #withTokens({ delta, finishReason, stopSequence, logprobs }: LLMChoice): string {
    const { content = "", toolCalls = [], images = [] } = delta ?? {};
    const role = this.#full ? ',"role":"assistant"' : "";
    const said = this.#full || content !== "" ? `,"content":${toJsonString(content)}` : "";
    const others = reasoningText(delta, this.#form.alsoReasoning) + imagesText(images, this.#drawn);
    const members = (role + said + others + callsText(toolCalls, true)).slice(1);
    this.#started = true;
    this.#drawn += images.length;
    const isLast = finishReason !== "";
    const reason = isLast ? toJsonString(finishReason) : "null";
    const beside = stopText(stopSequence) + logprobsText(logprobs);
    const more = isLast ? this.#ending() : middleUsage[this.#form.usage];
    return `${this.#choice}${members}},"finish_reason":${reason}${beside}}]${more}}`;
  }

  #calls(calls: readonly ToolCall[]): string {
    return this.#delta(callsText(calls, true));
  }

  /** What is thought, by both names. */
  #thought({ reasoningContent }: LLMMessage): string {
    return this.#delta(reasoningText({ reasoningContent }, true));
  }

  #details({ reasoningDetails }: LLMMessage): string {
    return this.#delta(reasoningText({ reasoningDetails }));
  }

  /** @param members as they follow others */
  #delta(members: string): string {
    const delta = this.#full ? `"role":"assistant","content":""${members}` : members.slice(1);
    this.#started = true;
    return `${this.#choice}${delta}},"finish_reason":null}]${middleUsage[this.#form.usage]}}`;
  }

  /** Whether a delta says everything: each of the contract's does, and the first of any stream. */
  get #full(): boolean {
    return this.#form.fullDelta || !this.#started;
  }

  /** @param beside what the choice says besides, @param more what the chunk does: both as they follow other members */
  #last(reason: string, more: string, beside = ""): string {
    const empty = this.#full ? '"role":"assistant","content":""' : "";
    return `${this.#choice}${empty}},"finish_reason":${toJsonString(reason)}${beside}}]${more}}`;
  }

  #counts(): string {
    return `,"usage":${usageText(this.#totals.usage)}`;
  }

  #extra(): string {
    return extras(this.#totals.estimated, this.#totals.warnings);
  }

  /** What the last chunk with a choice says besides. */
  #ending(): string {
    const tier = tierText(this.#totals.tier);
    switch (this.#form.usage) {
      case "every":
        return this.#counts() + tier + this.#extra();
      case "extra":
        return middleUsage.extra + tier;
      case "none":
        return tier + extras(false, this.#totals.warnings);
    }
  }
}

const firstChoice = '{"index":0,"delta":{';

/** What a delta begins with that says everything, and one that says no more than its text. */
const aheadOf = {
  content: ['"role":"assistant","content":"', '"content":"'],
  reasoning_content: [
    '"role":"assistant","content":"","reasoning_content":"',
    '"reasoning_content":"',
  ],
} as const;

function opening({ id, created, model }: Stamp): string {
  const text = `{"id":${toJsonString(id)},"object":"chat.completion.chunk","created":${created},"model":${toJsonString(model)},"choices":[`;
  putTogether(text);
  return text;
}

/** `usage` of the chunks before the last, as the end of an object. */
const middleUsage: Readonly<Record<ChunkForm["usage"], string>> = {
  every: `,"usage":${usageText(undefined)}`,
  extra: ',"usage":null',
  none: "",
};

const behind = (middle: string) => inOnePiece(`"},"finish_reason":null}]${middle}}\n\n`);

/** What stands behind the content. */
const behindText: typeof middleUsage = {
  every: behind(middleUsage.every),
  extra: behind(middleUsage.extra),
  none: behind(middleUsage.none),
};

/** `usage` of an answer that broke off, as it follows other members. */
function delivered({ promptTokens = 0, completionTokens = 0, estimated = false }: TokenCounts) {
  return `,"usage":${usageText(tokenUsage(promptTokens, completionTokens))}${extras(estimated, [])}`;
}
