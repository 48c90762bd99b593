/** How likely tokens were, as OpenAI-compatible servers tell it in `logprobs` of a choice, and its older forms. */
import type { TokenLogprob, TopLogprob } from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { tokenLogprob, topLogprob } from "../../core/logprobs.js";

const none: TokenLogprob[] = [];

/**
 * The tokens of a choice, or of a piece of one; as a rule nothing is told of them.
 * @param said the text of a piece: Together's streams have a number, of the one token that it is
 */
export function readLogprobs({ logprobs }: JsonObject, said = ""): TokenLogprob[] {
  if (logprobs === undefined || logprobs === null) return none;
  if (Array.isArray(logprobs)) return tokensIn(logprobs);
  if (typeof logprobs === "number") return ofPiece(said, logprobs);
  if (!isObject(logprobs)) return none;
  const { reasoning_content: thoughts, content, refusal, tokens } = logprobs;
  // DeepSeek has thoughts' apart, OpenAI those of what stands in place of an answer.
  const lists = [thoughts, content, refusal].filter(Array.isArray);
  return lists.length === 0 && Array.isArray(tokens)
    ? inLists(tokens, logprobs)
    : lists.flatMap(tokensIn);
}

const ofPiece = (token: string, logprob: number): TokenLogprob[] =>
  token === "" ? none : [tokenLogprob(token, logprob, undefined, [])];

const tokensIn = (list: readonly unknown[]): TokenLogprob[] =>
  list.filter(isToken).map((it) => {
    return tokenLogprob(it.token, numberOf(it.logprob), bytesOf(it.bytes), topIn(it.top_logprobs));
  });

/** The form of OpenAI's older interface, which Together, Fireworks and mlx-lm have in chats, too: a list for each member. */
function inLists(tokens: readonly unknown[], lists: JsonObject): TokenLogprob[] {
  const { token_logprobs, top_logprobs } = lists;
  const logprobs: readonly unknown[] = Array.isArray(token_logprobs) ? token_logprobs : [];
  const tops: readonly unknown[] = Array.isArray(top_logprobs) ? top_logprobs : [];
  return tokens.flatMap((token, i) =>
    typeof token === "string"
      ? [tokenLogprob(token, numberOf(logprobs[i]), undefined, topIn(tops[i]))]
      : [],
  );
}

/** A list of them, or an object with their logarithms by their texts. */
function topIn(top: unknown): TopLogprob[] {
  if (Array.isArray(top)) {
    return top
      .filter(isToken)
      .map(({ token, logprob, bytes }) => topLogprob(token, numberOf(logprob), bytesOf(bytes)));
  }
  if (!isObject(top)) return [];
  return Object.entries(top)
    .map(([token, logprob]) => topLogprob(token, numberOf(logprob)))
    .sort((one, other) => other.logprob - one.logprob);
}

const isToken = (value: unknown): value is JsonObject & { readonly token: string } =>
  isObject(value) && typeof value.token === "string";

/** What is infinitely unlikely is null where JSON is written to the letter. */
const numberOf = (logprob: unknown): number =>
  typeof logprob === "number" ? logprob : Number.NEGATIVE_INFINITY;

const isByte = (value: unknown) =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 256;

const bytesOf = (bytes: unknown): Uint8Array | undefined =>
  Array.isArray(bytes) && bytes.every(isByte) ? Uint8Array.from(bytes) : undefined;
