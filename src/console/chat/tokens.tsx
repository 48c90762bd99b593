/** How likely the tokens of an answer were. */
import type { TokenLogprob } from "../wire.js";

/** The less likely, the more it stands out; what else might have stood there is told beside it. */
export const Tokens = ({ tokens }: { readonly tokens: readonly TokenLogprob[] }) => (
  <details class="tokens">
    <summary>Tokens</summary>
    <p class="prose">
      {tokens.map((token, index) => (
        <span key={index} class={`doubt${doubtOf(token)}`} title={alternatives(token)}>
          {token.token}
        </span>
      ))}
    </p>
  </details>
);

/** From 0, of what was to be expected, to 4. */
function doubtOf({ logprob }: TokenLogprob): number {
  const bounds = [0.9, 0.6, 0.3, 0.1];
  const place = bounds.findIndex((bound) => Math.exp(logprob) >= bound);
  return place === -1 ? bounds.length : place;
}

const alternatives = ({ token, logprob, top_logprobs: others = [] }: TokenLogprob): string =>
  (others.length > 0 ? others : [{ token, logprob }])
    .map((one) => `${JSON.stringify(one.token)} ${(100 * Math.exp(one.logprob)).toFixed(1)}%`)
    .join("\n");
