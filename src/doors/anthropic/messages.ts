/** Conversations of the Messages API, to the contract's. */
import { isObject, type JsonObject } from "../../core/json.js";
import { tooManyItems } from "../items.js";
import { type Conversation, ConversationReader } from "../json/places.js";
import { quoted } from "../json/quoted.js";
import { assistantTurn, type Block, type BlockReading } from "./assistant-turn.js";
import { joined, lastMark, markIn } from "./marks.js";
import { keepsSize, type Part, partOf, textsOf } from "./parts.js";
import { changesTools } from "./tool-changes.js";

/** A conversation of Anthropic's form. */
export interface MessagesConversation extends Conversation {
  /** Whether a message says how the answer is to be made. */
  readonly isTuned: boolean;
  /** Whether an image is to be refused rather than made smaller, which is the model server's doing. */
  readonly keepsSizes: boolean;
}

/** Reads `system` and `messages`: what tools said is a message of its own in the contract. */
export function readConversation({
  system,
  messages,
  cache_control: mark,
}: JsonObject): MessagesConversation {
  const reading = new Reading();
  if (system != null) reading.system(system);
  if (Array.isArray(messages)) {
    reading.list(messages);
    reading.end(mark);
  } else if (messages != null) reading.wrong("messages", "must be an array");
  return reading;
}

/** Those of the API, and one that some clients have of others' and mean as `system`. */
const roles = ["user", "assistant", "system", "developer"];

class Reading extends ConversationReader implements MessagesConversation, BlockReading {
  isTuned = false;
  keepsSizes = false;

  system(system: unknown): void {
    const blocks = Array.isArray(system)
      ? system.map((block: unknown, i) => ({ block, place: `system[${i}]` }))
      : [];
    const told = blocks.filter(({ block }) => isForModels(block));
    const text = Array.isArray(system) ? textsOf(told.map(({ block }) => block)) : system;
    if (typeof text !== "string") this.wrong("system", "must be a string, or an array of texts");
    else if (text !== "") {
      const parts = told.flatMap(({ block, place }) => this.#part(block, place));
      const said = Array.isArray(system) ? joined(parts) : { content: text };
      const { content, ...places } = said;
      this.add({ role: "system", content }, { at: "system", content: "system", ...places });
    }
  }

  /** Marks the conversation's end, where the request does so by itself. */
  end(mark: unknown): void {
    const [message, place] = [this.messages.at(-1), this.places.at(-1)];
    if (mark == null || !isObject(message) || !place) return;
    this.messages[this.messages.length - 1] = { ...message, cache_control: mark };
    this.places[this.places.length - 1] = { ...place, mark: "cache_control" };
  }

  list(messages: readonly unknown[]): void {
    const tooMany = tooManyItems("messages", messages.length);
    if (tooMany) {
      this.violations.push(tooMany);
      return;
    }
    let lastUsers: number | undefined;
    for (const [i, written] of messages.entries()) {
      const at = `messages[${i}]`;
      const message = this.#ofKnownRole(written, at);
      if (!isObject(message) || message.role !== "system") {
        this.#message(message, at);
        continue;
      }
      lastUsers ??= messages.findLastIndex((it) => isObject(it) && it.role === "user");
      this.#system(message, at, i < lastUsers);
    }
  }

  /** The message, as a user's where no such role is: the contract's are others. */
  #ofKnownRole(message: unknown, at: string): unknown {
    if (!isObject(message) || typeof message.role !== "string") return message;
    if (roles.includes(message.role)) return message;
    this.wrong(`${at}.role`, "must be one of user, assistant, system");
    return { ...message, role: "user" };
  }

  /** What is said in between to the model alone. @param isPast whether the user has said more since */
  #system(message: JsonObject, at: string, isPast: boolean): void {
    const { content = null, clear_at: clear, output_config: config } = message;
    const tunes = isObject(config);
    if (tunes && config.effort != null) this.isTuned = true;
    const isCleared = isPast && clear === "next_user_message";
    if (!isCleared && (content !== null || !tunes)) this.#message(message, at);
  }

  #message(message: unknown, at: string): void {
    const content = `${at}.content`;
    if (!isObject(message) || !Array.isArray(message.content)) {
      this.add(message, { at, content });
      return;
    }
    const blocks = (message.content as unknown[]).map((block, i) => {
      const place = `${content}[${i}]`;
      this.#typed(block, place);
      return { block: isObject(block) ? block : {}, place };
    });
    if (message.role === "assistant") this.add(...assistantTurn(blocks, at, this));
    else if (message.role !== "system") this.#user(message.role, blocks, at);
    else {
      const said = blocks.filter(({ block }) => !changesTools(block));
      if (said.length > 0 || blocks.length === 0) this.#user("system", said, at);
    }
  }

  /** What tools said comes first, as it has to; pictures among it are shown behind it. */
  #user(role: unknown, blocks: readonly Block[], at: string): void {
    const parts: Part[] = [];
    for (const { block, place } of blocks) {
      if (block.type === "tool_result") parts.push(...this.#result(block, place));
    }
    for (const { block, place } of blocks) {
      if (block.type !== "tool_result") parts.push(...this.#part(block, place));
    }
    const results = blocks.filter(({ block }) => block.type === "tool_result");
    if (blocks.length > 0 && results.length === blocks.length && parts.length === 0) return;
    const texts = parts.flatMap(({ part }) => (part.type === "text" ? [part.text] : []));
    const plain = texts.length === parts.length && texts.every((it) => typeof it === "string");
    const said = plain
      ? joined(parts)
      : { content: parts.map(({ part }) => part), parts: parts.map(({ place }) => place) };
    const { content, ...places } = said;
    this.add({ role, content }, { at, content: `${at}.content`, ...places });
  }

  /** @returns its pictures */
  #result({ tool_use_id, content, ...block }: JsonObject, place: string): Part[] {
    if (typeof tool_use_id !== "string") this.wrong(`${place}.tool_use_id`, "must be a string");
    const said = (content ?? "") as unknown;
    const inner = Array.isArray(said) ? (said as unknown[]) : [];
    const parts = inner.flatMap((one, i) => {
      const at = `${place}.content[${i}]`;
      this.#typed(one, at);
      return this.#part(one, at);
    });
    const isText = ({ part }: Part) => part.type === "text";
    const texts = parts.filter(isText).map((it) => this.text(it.part, "text", it.place));
    const text = Array.isArray(said) ? texts.join("\n") : said;
    // Else nobody would know that it failed.
    const told = block.is_error === true && text === "" ? "error" : text;
    const end = lastMark([
      ...inner.map((one, i) => ({
        block: isObject(one) ? one : {},
        place: `${place}.content[${i}]`,
      })),
      { block, place },
    ]);
    const where = { at: place, content: `${place}.content`, ...end?.at };
    this.add({ role: "tool", tool_call_id: tool_use_id, content: told, ...end?.mark }, where);
    return parts.filter((part) => !isText(part));
  }

  /** A part, or nothing where it is none that can be served. */
  #part(block: unknown, place: string): Part[] {
    const part = isObject(block)
      ? partOf(block, place, (field, why) => this.wrong(field, why))
      : {};
    if (part !== undefined && part.type !== undefined) {
      if (part.type === "image_url" && keepsSize(block as JsonObject)) this.keepsSizes = true;
      return [{ part: { ...part, ...markIn(block as JsonObject) }, place }];
    }
    if (isObject(block)) this.refuseBlock(block, place);
    return [];
  }

  /** Of a block that says not what it is nothing would be told. */
  #typed(block: unknown, place: string): void {
    if (!isObject(block)) this.wrong(place, "must be an object");
    else if (typeof block.type !== "string") this.wrong(`${place}.type`, "must be a string");
  }

  text(block: JsonObject, member: string, place: string, otherwise?: string): string {
    const text = block[member] ?? otherwise;
    if (typeof text === "string") return text;
    this.wrong(`${place}.${member}`, text === undefined ? "is required" : "must be a string");
    return "";
  }

  refuseBlock({ type }: JsonObject, place: string): void {
    if (typeof type !== "string") return;
    const why = `a block of the type ${quoted(type)} is not supported here`;
    this.refuse(place, why);
  }
}

/** Claude Code's note for Anthropic's bills, another one each time: with it no prompt would be found in a cache. */
const isForModels = (block: unknown): boolean =>
  !isObject(block) ||
  typeof block.text !== "string" ||
  !block.text.startsWith("x-anthropic-billing-header:");
