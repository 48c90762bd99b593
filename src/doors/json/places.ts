/** Where what a client wrote in another form has come to stand in the contract's messages, and back. */
import { type LintelError, unsupported, type Violation } from "../../core/errors.js";
import { tooDeep } from "../../core/json.js";
import { embeddedJson } from "../../core/long-numbers.js";

/** A conversation of another form, as the contract has it. */
export interface Conversation {
  /** As the contract has them in JSON; what is no message stands where it stood. */
  readonly messages: readonly unknown[];
  /** What can't be read, by the client's names. */
  readonly violations: readonly Violation[];
  /** The first part of it that this gateway can't serve. */
  readonly refused: LintelError | undefined;
  /** Where a message begins with what the client wrote, by its position. */
  readonly places: readonly Place[];
}

/** Where the parts of a message stand at the client. */
export interface Place {
  readonly at: string;
  readonly content: string;
  /** Of each part of the content. */
  readonly parts?: readonly string[];
  /** Of each picture that the model drew. */
  readonly images?: readonly string[];
  /** Of each call of a tool. */
  readonly calls?: readonly string[];
  /** Of the mark at its end, where that is not the message's own there. */
  readonly mark?: string | undefined;
}

/** A conversation as it is read, message by message. */
export abstract class ConversationReader implements Conversation {
  readonly messages: unknown[] = [];
  readonly violations: Violation[] = [];
  readonly places: Place[] = [];
  refused: LintelError | undefined;

  /** Notes what can't be read. @param field by the client's name */
  wrong(field: string, message: string): void {
    this.violations.push({ field, message });
  }

  /** What the client wrote as JSON, as text; notes it where it is nested too deeply for that. */
  written(value: unknown, field: string): string {
    const text = embeddedJson(value);
    if (text === undefined) this.wrong(field, tooDeep);
    return text ?? "{}";
  }

  /** Notes what can't be served; the first counts. */
  protected refuse(place: string, why: string): void {
    this.refused ??= unsupported(place, why);
  }

  /** @param place where it stands at the client */
  protected add(message: unknown, place: Place): void {
    this.messages.push(message);
    this.places.push(place);
  }
}

/** What a form calls the contract's fields. */
export interface Naming {
  /** Those that have one place each; a member of one follows it. */
  readonly moved: readonly (readonly [ours: string, theirs: string])[];
  /** Members of calls. */
  readonly ofCall: Readonly<Record<string, string>>;
  /** A member of a tool, or nothing. */
  ofTool(rest: string): string;
  /** A member of a part, or nothing. */
  ofPart(rest: string): string;
  /** The id of the call that something came of. */
  readonly callId: string;
}

/**
 * Finds the client's names of fields.
 * @param messages where each message stands at the client
 * @param tools where each tool does
 * @param own fields that are named as the client does already
 */
export function namesBy(
  naming: Naming,
  messages: readonly Place[],
  tools: readonly string[],
  own: ReadonlySet<string | undefined>,
): (field: string) => string {
  return (field) => {
    if (own.has(field)) return field;
    const [, list, index, rest = ""] = /^(messages|tools)\[(\d+)\](.*)$/.exec(field) ?? [];
    const i = Number(index);
    if (list === "tools") return (tools[i] ?? `tools[${i}]`) + naming.ofTool(rest);
    const place = list === "messages" ? messages[i] : undefined;
    if (place) return inMessage(naming, place, rest);
    for (const [ours, theirs] of naming.moved) {
      const behind = field.slice(ours.length);
      if (field.startsWith(ours) && /^(?:$|[.[])/.test(behind)) return theirs + behind;
    }
    return field;
  };
}

const ofMark = ".cache_control";

function inMessage(naming: Naming, place: Place, rest: string): string {
  const { at, content, parts = [], images = [], calls = [] } = place;
  const [, call, ofCall = ""] = /^\.tool_calls\[(\d+)\](.*)$/.exec(rest) ?? [];
  if (call !== undefined) return (calls[Number(call)] ?? at) + (naming.ofCall[ofCall] ?? ofCall);
  const [, part, ofPart = ""] = /^\.parts\[(\d+)\](.*)$/.exec(rest) ?? [];
  if (part !== undefined) {
    return (parts[Number(part)] ?? `${content}[${part}]`) + naming.ofPart(ofPart);
  }
  const [, image, ofImage = ""] = /^\.images\[(\d+)\](.*)$/.exec(rest) ?? [];
  if (image !== undefined) return (images[Number(image)] ?? at) + naming.ofPart(ofImage);
  if (place.mark !== undefined && rest.startsWith(ofMark)) {
    return place.mark + rest.slice(ofMark.length);
  }
  switch (rest) {
    case ".content":
    case ".parts":
    case ".tool_calls":
    case ".images":
      return content;
    case ".tool_call_id":
      return `${at}.${naming.callId}`;
    default:
      return at + rest;
  }
}
