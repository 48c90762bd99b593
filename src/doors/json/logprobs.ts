/** How likely the tokens of an answer were, as JSON of OpenAI's clients. */
import type { Logprobs, TokenLogprob, TopLogprob } from "../../../gen/lintel/v1/chat_pb.js";
import { toJsonString } from "../../core/json-string.js";

/** `logprobs` of a choice as it follows other members; nothing where nobody tells or asks. */
export const logprobsText = (logprobs: Logprobs | undefined): string =>
  logprobs === undefined
    ? ""
    : `,"logprobs":{"content":${tokensText(logprobs.content)},"refusal":null}`;

/** Tokens, as a list. @param bytesOf how their bytes are written. Default: as numbers, or null where nobody tells */
export const tokensText = (tokens: readonly TokenLogprob[], bytesOf = numbers): string =>
  `[${tokens.map((token) => tokenText(token, bytesOf)).join(",")}]`;

const tokenText = (token: TokenLogprob, bytesOf: typeof numbers): string =>
  `{${membersOf(token, bytesOf)},"top_logprobs":[${token.topLogprobs
    .map((top) => `{${membersOf(top, bytesOf)}}`)
    .join(",")}]}`;

const membersOf = (token: TokenLogprob | TopLogprob, bytesOf: typeof numbers): string =>
  `"token":${toJsonString(token.token)},"logprob":${token.logprob},"bytes":${bytesOf(token)}`;

const numbers = ({ bytes }: Pick<TopLogprob, "token" | "bytes">): string =>
  bytes ? `[${bytes.join(",")}]` : "null";
