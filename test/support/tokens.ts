/** Tokens of answers, and backends that tell how likely each was. */
import type { LLMResponse, TokenLogprob } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { tokenLogprob, topLogprob, withLogprobs } from "../../src/core/logprobs.js";
import { piece } from "./scripted.js";

/** A token, and others that might have stood there. */
export const token = (
  text: string,
  logprob = -0.5,
  ...others: readonly (readonly [text: string, logprob: number])[]
): TokenLogprob =>
  tokenLogprob(
    text,
    logprob,
    Buffer.from(text),
    others.map(([other, of]) => topLogprob(other, of, Buffer.from(other))),
  );

/** A message of a stream with its tokens. */
export function withTokens(message: LLMResponse, ...tokens: TokenLogprob[]): LLMResponse {
  for (const choice of message.choices) withLogprobs(choice, tokens);
  return message;
}

/** Streams texts, each of which is one token, then the end with usage. */
export const saysTokens = (...texts: string[]): Handle<"chat"> =>
  async function* () {
    for (const text of texts) yield [withTokens(piece(text), token(text))];
    yield [piece("", "stop", [7, texts.length])];
  };

/** All tokens that an answer tells of. */
export const tokensIn = (messages: readonly object[]): TokenLogprob[] =>
  (messages as LLMResponse[]).flatMap(({ choices: [choice] }) => choice?.logprobs?.content ?? []);

/** Their texts. */
export const textsOf = (messages: readonly object[]): string[] =>
  tokensIn(messages).map(({ token }) => token);
