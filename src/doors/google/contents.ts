/** Conversations of the Gemini API, to the contract's. */
import { isObject, type JsonObject } from "../../core/json.js";
import { tooManyItems } from "../items.js";
import { type Conversation, ConversationReader } from "../json/places.js";
import { quoted } from "../json/quoted.js";
import { CallIds } from "./call-ids.js";
import { member } from "./member.js";
import { modelTurn, type Part, type PartReading } from "./model-turn.js";
import { dataPlace, detailOf, joined, levelOf, partOf } from "./parts.js";
import { textReturned } from "./returned.js";

/** A conversation of Google's form. */
export interface GenerateConversation extends Conversation {
  /** Whether something else than an image is to be looked at more closely, or less. */
  readonly hasResolution: boolean;
}

/**
 * Reads `systemInstruction` and `contents`: what functions returned is a message of its own in the contract.
 * Of contents that are no list, or too long a one, the decoder says so.
 */
export function readConversation(json: JsonObject): GenerateConversation {
  const config = member(json, "generationConfig");
  const reading = new Reading(isObject(config) ? member(config, "mediaResolution") : undefined);
  const system = member(json, "systemInstruction");
  const { contents } = json;
  if (system !== undefined) reading.system(system);
  if (Array.isArray(contents)) reading.list(contents);
  else if (isObject(contents)) reading.alone(contents);
  return reading;
}

class Reading extends ConversationReader implements GenerateConversation, PartReading {
  hasResolution = false;
  readonly #ids = new CallIds();
  /** Of all parts that have none themselves. */
  readonly #level: unknown;
  /** What the model says, as far as it was read. */
  #turn: { readonly at: string; readonly parts: Part[] } | undefined;

  constructor(level: unknown) {
    super();
    this.#level = level;
  }

  system(system: unknown): void {
    const at = "systemInstruction";
    if (typeof system === "string") {
      if (system !== "") this.add({ role: "system", content: system }, { at, content: at });
      return;
    }
    if (!isObject(system)) {
      this.wrong(at, "must be an object with parts");
      return;
    }
    const parts = this.#partsOf(system, at);
    const texts = parts.flatMap(({ part, place }) => this.content(part, place));
    const content = joined(texts.map(({ part }) => part));
    if (typeof content !== "string") this.wrong(at, "must have no parts but texts");
    else if (content !== "") this.add({ role: "system", content }, { at, content: at });
  }

  list(contents: readonly unknown[]): void {
    if (tooManyItems("contents", contents.length)) return;
    for (const [i, content] of contents.entries()) this.#one(content, `contents[${i}]`);
    this.#endTurn();
  }

  /** One content may stand for a list of it, as Google reads it. */
  alone(content: JsonObject): void {
    this.#one(content, "contents");
    this.#endTurn();
  }

  #one(content: unknown, at: string): void {
    if (!isObject(content)) {
      this.#endTurn();
      this.#unread(at, at, "must be an object");
      return;
    }
    const { role = "user" } = content;
    const parts = this.#partsOf(content, at);
    if (role === "model") {
      // Clients keep each piece of a stream as a content of its own.
      this.#turn ??= { at, parts: [] };
      for (const part of parts) this.#turn.parts.push(part);
      return;
    }
    this.#endTurn();
    if (role === "user" || role === "function" || role === null) this.#user(parts, at);
    else this.#unread(at, `${at}.role`, "must be user or model");
  }

  /** Who sends nothing else is not to hear that there is nothing. */
  #unread(at: string, field: string, message: string): void {
    this.wrong(field, message);
    this.add({ role: "user", content: "" }, { at, content: at });
  }

  /** What the model said is complete. */
  #endTurn(): void {
    const turn = this.#turn;
    this.#turn = undefined;
    if (turn) this.add(...modelTurn(turn.parts, turn.at, this));
  }

  #partsOf(content: JsonObject, at: string): Part[] {
    const { parts } = content;
    if (!Array.isArray(parts)) {
      // One alone may stand for a list of it.
      if (isObject(parts)) return [{ part: parts, place: `${at}.parts` }];
      this.wrong(`${at}.parts`, parts == null ? "is required" : "must be an array");
      return [];
    }
    return (parts as unknown[]).flatMap((part, i) => {
      const place = `${at}.parts[${i}]`;
      if (isObject(part)) return [{ part, place }];
      this.wrong(place, "must be an object");
      return [];
    });
  }

  call(call: unknown, extraContent: JsonObject | undefined, place: string): object {
    if (!isObject(call)) {
      this.wrong(place, "must be an object");
      return { id: "x", function: { name: "x" } };
    }
    const { id, name, args } = call;
    if (!isObject(args ?? {})) this.wrong(`${place}.args`, "must be an object");
    return {
      id: this.#ids.called(id, name),
      type: "function",
      function: { name, arguments: this.written(args ?? {}, `${place}.args`) },
      ...(extraContent && { extra_content: extraContent }),
    };
  }

  /** What functions returned comes first, as it has to. */
  #user(parts: readonly Part[], at: string): void {
    const rest: Part[] = [];
    let returned = 0;
    for (const { part, place } of parts) {
      const response = member(part, "functionResponse");
      if (response === undefined) rest.push(...this.content(part, place));
      else {
        returned++;
        rest.push(...this.#returned(response, `${place}.functionResponse`));
      }
    }
    if (returned > 0 && rest.length === 0) return;
    const places = rest.map(({ place }) => place);
    const content = joined(rest.map(({ part }) => part));
    this.add({ role: "user", content }, { at, content: `${at}.parts`, parts: places });
  }

  /** @returns what is shown beside it */
  #returned(response: unknown, place: string): Part[] {
    if (!isObject(response)) {
      this.wrong(place, "must be an object");
      return [];
    }
    const { id, name } = response;
    const said = response.response ?? {};
    if (!isObject(said)) this.wrong(`${place}.response`, "must be an object");
    const where = { at: place, content: `${place}.response` };
    const content = textReturned(said, name) ?? this.written(said, `${place}.response`);
    this.add({ role: "tool", tool_call_id: this.#ids.returned(id, name), content }, where);
    const shown = response.parts == null ? [] : this.#partsOf(response, place);
    return shown.flatMap(({ part, place: at }) => this.content(part, at));
  }

  /** A part of what is said, or nothing where it is none that can be served. */
  content(part: JsonObject, place: string): Part[] {
    const read = partOf(part, place, (field, why) => this.wrong(field, why));
    if (read?.type === "text") return [{ part: read, place }];
    if (read?.type !== undefined) {
      return [{ part: this.#looked(read, levelOf(part)), place: dataPlace(part, place) }];
    }
    if (read === undefined) this.#refuse(part, place);
    return [];
  }

  /** An image with how closely it is looked at. @param own level of the part itself */
  #looked(read: JsonObject, own: unknown): JsonObject {
    const level = own ?? this.#level;
    if (level === undefined || level === "MEDIA_RESOLUTION_UNSPECIFIED") return read;
    if (read.type !== "image_url") {
      this.hasResolution = true;
      return read;
    }
    const detail = detailOf(level);
    return { type: read.type, image_url: Object.assign({ detail }, read.image_url) };
  }

  text(part: JsonObject, name: string, place: string): string {
    const text = member(part, name) ?? "";
    if (typeof text === "string") return text;
    this.wrong(`${place}.${name}`, "must be a string");
    return "";
  }

  #refuse(part: JsonObject, place: string): void {
    const kind = Object.keys(part).find(
      (name) => part[name] !== null && !/^(?:thought|video|part_?m|media)/i.test(name),
    );
    // One that has a signature alone, or nothing at all, says nothing.
    if (kind === undefined) return;
    const why = `a part with ${quoted(kind)} is not supported here`;
    this.refuse(place, why);
  }
}
