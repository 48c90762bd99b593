/**
 * What of an answer is thought, and what is for its reader, where a model writes on several channels, as gpt-oss does
 * (OpenAI's harmony format): `<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…`.
 */
import type { Token } from "node-llama-cpp";
import { nothing, type Said } from "../marked-thoughts.js";
import type { AnswerReader } from "./answer.js";

/** The control tokens of such a model. */
export interface ChannelTokens {
  readonly channel: Token;
  readonly message: Token;
  /** A message begins, or is over: what follows is a header. */
  readonly start: Token;
  readonly end: Token;
}

const texts = {
  channel: "<|channel|>",
  message: "<|message|>",
  start: "<|start|>",
  end: "<|end|>",
} as const satisfies Record<keyof ChannelTokens, string>;

/**
 * The tokens, if the model has them, and its template writes them.
 * @param tokenize to the tokens of a text, control tokens included
 */
export function channelTokens(
  template: string,
  tokenize: (text: string) => readonly Token[],
): ChannelTokens | undefined {
  const found: [string, Token][] = [];
  for (const [name, text] of Object.entries(texts)) {
    const [token, ...more] = template.includes(text) ? tokenize(text) : [];
    if (token === undefined || more.length > 0) return undefined;
    found.push([name, token]);
  }
  return Object.fromEntries(found) as Record<keyof ChannelTokens, Token>;
}

/**
 * What has to follow a prompt for the answer to be on the channel for its reader from the first
 * token on; nothing where the prompt has chosen a channel.
 */
export function finalChannel(
  { start, channel, message }: ChannelTokens,
  prompt: readonly Token[],
  tokenize: (text: string) => readonly Token[],
): Token[] {
  const header = prompt.slice(prompt.lastIndexOf(start) + 1);
  return header.includes(channel) ? [] : [channel, ...tokenize("final"), message];
}

/** Reads one answer. */
export class ChannelReader implements AnswerReader {
  readonly #tokens: ChannelTokens;
  #header = "";
  #inHeader = true;
  /** What the message is; absent: neither thoughts nor for the reader. */
  #kind: keyof Said | undefined;
  #begun = false;
  /** What was written before there was a message. */
  #written = "";

  /** @param prompt ends with a header, or with the beginning of a message: some templates choose the channel */
  constructor(tokens: ChannelTokens, prompt: readonly Token[], textOf: (token: Token) => string) {
    this.#tokens = tokens;
    const start = prompt.lastIndexOf(tokens.start);
    for (const token of start < 0 ? [] : prompt.slice(start)) this.push(token, textOf(token));
    this.#written = "";
  }

  get isThinking(): boolean {
    return this.#kind === "thought";
  }

  push(token: Token, text: string): Said {
    const { channel, message, start, end } = this.#tokens;
    if (!this.#begun) this.#written += text;
    if (token === start || token === end || token === channel) {
      // The engine writes some of these tokens out.
      const rest = this.#said(text.replace(/<\|\w+\|>$/, ""));
      // A receiver may stand with the role, in front of the channel.
      this.#header = this.#inHeader && token === channel ? `${this.#header}\n` : "";
      this.#inHeader = true;
      this.#kind = undefined;
      return rest;
    }
    if (token === message) {
      // Calls of tools, which have a receiver, are not for the reader.
      const isCall = /\bto=/.test(this.#header);
      const isThought = /^\s*analysis\b/m.test(this.#header);
      this.#kind = isCall ? undefined : isThought ? "thought" : "text";
      this.#inHeader = false;
      this.#begun = true;
      return nothing;
    }
    if (this.#inHeader) this.#header += text;
    return this.#said(text);
  }

  /** All of an answer that never had a message. */
  flush(): Said {
    return this.#begun ? nothing : { thought: "", text: this.#written };
  }

  #said(text: string): Said {
    return this.#kind ? { ...nothing, [this.#kind]: text } : nothing;
  }
}
