/**
 * What of an answer is thought, and what is for its reader, where a model writes several messages: on channels, as gpt-oss does
 * (OpenAI's harmony format): `<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…`, or to
 * others, as Muse Glimmer does: ` to=self<|message|>…<|eom|><|start|>assistant to=user<|message|>…`.
 */
import type { Token } from "node-llama-cpp";
import { nothing, type Said } from "../marked-thoughts.js";
import type { AnswerReader, Heard } from "./answer.js";
import { type KnownTools, namedCall, readCalls, type WrittenCall } from "./tools/calls.js";
import type { ToolForm } from "./tools/form.js";

/** The control tokens of such a model. */
export interface ChannelTokens {
  /** Absent: messages are told by whom they are for. */
  readonly channel?: Token;
  readonly message: Token;
  /** A message begins, or is over: what follows is a header. */
  readonly start: Token;
  readonly end: Token;
  /** Stands in front of the type of a call's arguments; absent: there is no such token. */
  readonly constrain?: Token;
}

const texts = { message: "<|message|>", start: "<|start|>" } as const;

/** gpt-oss', and Muse Glimmer's. */
const kinds = [
  { ...texts, channel: "<|channel|>", end: "<|end|>" },
  { ...texts, end: "<|eom|>" },
] as const;

/** What stands in the header of what is thought, and of what is for the reader. */
const headers = {
  channel: { analysis: "analysis", final: "final" },
  receiver: { analysis: " to=self", final: " to=user" },
} as const;

/** The header of what is for the reader, behind the token of a channel, if there is one. */
export const finalHeader = ({ channel }: ChannelTokens): string =>
  headers[channel === undefined ? "receiver" : "channel"].final + texts.message;

/** Receivers that are no tools, also where a model writes them to a channel. */
const others: ReadonlySet<string> = new Set(["assistant", "self", "user"]);

/**
 * The tokens, if the model has them, and its template writes them.
 * @param tokenize to the tokens of a text, control tokens included
 */
export function channelTokens(
  template: string,
  tokenize: (text: string) => readonly Token[],
): ChannelTokens | undefined {
  const one = (text: string) => {
    const [token, ...more] = tokenize(text);
    return more.length > 0 ? undefined : token;
  };
  for (const kind of kinds) {
    const found = Object.entries(kind).map(
      ([name, text]) => [name, template.includes(text) ? one(text) : undefined] as const,
    );
    if (found.some(([, token]) => token === undefined)) continue;
    // Templates need not write it.
    const constrain = one("<|constrain|>");
    const tokens = Object.fromEntries(found) as unknown as ChannelTokens;
    return constrain === undefined ? tokens : { ...tokens, constrain };
  }
  return undefined;
}

/**
 * What has to follow a prompt for the answer to be on a channel from the first token on: `final`,
 * for its reader, or `analysis`, for thoughts; nothing where the prompt has chosen one.
 */
export function onChannel(
  name: "final" | "analysis",
  { start, channel, message }: ChannelTokens,
  prompt: readonly Token[],
  tokenize: (text: string) => readonly Token[],
): Token[] {
  const header = prompt.slice(prompt.lastIndexOf(start) + 1);
  if (header.includes(channel ?? message)) return [];
  return channel === undefined
    ? [...tokenize(headers.receiver[name]), message]
    : [channel, ...tokenize(headers.channel[name]), message];
}

/** A message to a tool. */
interface Called {
  readonly header: string;
  readonly name: string;
  readonly isThought: boolean;
  args: string;
}

/** Reads one answer. */
export class ChannelReader implements AnswerReader {
  readonly #tokens: ChannelTokens;
  #header = "";
  #inHeader = true;
  /** The tools that may be called; absent: none, and what is for one is nobody's. */
  readonly #known: KnownTools | undefined;
  /** How messages to tools are written; absent: as their arguments. */
  readonly #form: ToolForm | undefined;
  /** The call that the message is; absent: none. */
  #called: Called | undefined;
  /** What the message is; absent: neither thoughts nor for the reader. */
  #kind: keyof Said | undefined;
  #begun = false;
  /** What was written before there was a message. */
  #written = "";
  /** Whether all is thought, on whichever channel: until a message is over. */
  #isFirst = false;

  /**
   * @param prompt ends with a header, or with the beginning of a message: some templates choose the channel
   * @param known the tools that may be called; absent: none
   * @param thinksFirst whether an answer that has a form begins behind the first message, which is thought
   * @param form how messages to tools are written; absent: as their arguments, in JSON
   */
  constructor(
    tokens: ChannelTokens,
    prompt: readonly Token[],
    textOf: (token: Token) => string,
    known?: KnownTools,
    thinksFirst = false,
    form?: ToolForm,
  ) {
    this.#tokens = tokens;
    this.#known = known;
    this.#form = form;
    const start = prompt.lastIndexOf(tokens.start);
    for (const token of start < 0 ? [] : prompt.slice(start)) this.push(token, textOf(token));
    this.#written = "";
    this.#isFirst = thinksFirst;
  }

  get isThinking(): boolean {
    return this.#kind === "thought";
  }

  push(token: Token, text: string): Heard {
    const { channel, message, start, end, constrain } = this.#tokens;
    if (!this.#begun) this.#written += text;
    if (token === start || token === end || token === channel) {
      // The engine writes some of these tokens out.
      const rest = this.#said(text.replace(/<\|\w+\|>$/, ""));
      const whole = this.#endCall(rest);
      // A receiver may stand with the role, in front of the channel.
      this.#header = this.#inHeader && token === channel ? `${this.#header}\n` : "";
      this.#inHeader = true;
      this.#kind = undefined;
      if (token === end) this.#isFirst = false;
      return whole;
    }
    if (!this.#inHeader) return this.#said(text);
    if (token === message) return this.#begin("");
    this.#header += token === constrain ? " " : text;
    // By a grammar it may be written letter by letter.
    const at = this.#header.indexOf(texts.message);
    if (at < 0) return nothing;
    const rest = this.#header.slice(at + texts.message.length);
    this.#header = this.#header.slice(0, at);
    return this.#begin(rest);
  }

  /** All of an answer that never had a message, or the call that it ends with. */
  flush(): Heard {
    if (!this.#begun) return { thought: "", text: this.#written };
    return this.#endCall(nothing);
  }

  /** @param text of the message that stands in its first token */
  #begin(text: string): Heard {
    const header = this.#header;
    const [, name = ""] = /\bto=(?:functions\.)?([\w.-]+)/.exec(header) ?? [];
    const isOther = others.has(name) && !this.#known?.has(name);
    const isCall = !this.#isFirst && /\bto=/.test(header) && !isOther;
    const isThought =
      this.#isFirst || /^\s*analysis\b/m.test(header) || (isOther && name === "self");
    this.#called = isCall && this.#known ? { header, name, isThought, args: "" } : undefined;
    // Calls of tools, which have a receiver, are not for the reader.
    this.#kind = isCall ? undefined : isThought ? "thought" : "text";
    this.#inHeader = false;
    this.#begun = true;
    return this.#said(text);
  }

  /** The call whose message is over; what only looks like one is text, unless it is part of thoughts. */
  #endCall(rest: Heard): Heard {
    if (!this.#called || !this.#known) return rest;
    const { header, name, isThought, args } = this.#called;
    this.#called = undefined;
    const calls = this.#callsIn(name, args, this.#known);
    if (calls.length > 0) return { ...rest, calls };
    const receiver = header.replace(/^\s*assistant\b/, "").trim();
    return isThought ? rest : { ...rest, text: `${receiver}${texts.message}${args}` };
  }

  #callsIn(name: string, args: string, known: KnownTools): readonly WrittenCall[] {
    if (!this.#form) return [namedCall(name, args, known)].filter((call) => call !== undefined);
    const begin = this.#form.begin.trim();
    const at = args.indexOf(begin);
    const found = at < 0 ? "none" : readCalls(args.slice(at + begin.length), this.#form, known);
    return typeof found === "string" ? [] : found.calls;
  }

  #said(text: string): Said {
    if (this.#called) this.#called.args += text;
    return this.#kind ? { ...nothing, [this.#kind]: text } : nothing;
  }
}
