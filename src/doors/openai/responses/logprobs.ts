/** How likely the tokens of what is said were. */
import type { TokenLogprob } from "../../../../gen/lintel/v1/chat_pb.js";
import { spelling } from "../../../core/spelled-tokens.js";
import { tokensText as usual } from "../../json/logprobs.js";

/** The tokens of a whole answer that are of what it says, where that is to be found: it may think and call besides. */
export const tokensOf = (text: string, tokens: readonly TokenLogprob[]): readonly TokenLogprob[] =>
  spelling(tokens, text) ?? tokens;

/** Tokens as JSON text. Here they always have bytes. */
export const tokensText = (tokens: readonly TokenLogprob[]): string =>
  usual(tokens, ({ token, bytes }) => `[${(bytes ?? Buffer.from(token)).join(",")}]`);
