/**
 * Has a vendor count the tokens of a prompt. The common interface has no word for it: the provider
 * writes the request for an answer, which is sent to the vendor's other path.
 */
import type { CountTokensResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../core/call.js";
import { tokenCount } from "../../core/chat-messages.js";
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { counting, countOf, countsNone, lacksCounting } from "../token-counts.js";
import type { ChatModel } from "./chat.js";
import type { Counts } from "./counts.js";
import { failureOf } from "./failure.js";
import type { Fetch } from "./load.js";
import { optionsOf } from "./request.js";

/** What came of a request for a number: thrown through the provider, which waits for an answer. */
class Counted extends Error {
  readonly tokens: number | undefined;
  /** Whether it is done nowhere. */
  readonly lacks: boolean;

  constructor(status: number, said?: unknown, tokens?: number) {
    super("tokens were counted");
    this.tokens = tokens;
    this.lacks = lacksCounting(status, said);
  }
}

/**
 * A header by which a request that the provider sends is known for one whose tokens are to be counted;
 * it goes no further. Node's way to know (`AsyncLocalStorage`) makes each promise of the process dearer.
 */
const marker = "x-lintel-counting";

/**
 * A `fetch` that has tokens counted where that is what a request is made for.
 * @param counts how the vendor does; absent: it does not
 */
export function countingFetch(fetch: Fetch, counts: Counts | undefined): Fetch {
  if (!counts) return fetch;
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    if (!headers.has(marker)) return fetch(input, init);
    headers.delete(marker);
    const url = new URL(String(input));
    const [answers, path] = counts.paths;
    const request = typeof init?.body === "string" ? parseJson(init.body) : undefined;
    if (!url.pathname.endsWith(answers) || !isObject(request)) throw new Counted(501);
    url.pathname = url.pathname.slice(0, -answers.length) + path;
    const body = JSON.stringify(counts.body(withModel(request, url.pathname)));
    const response = await fetch(url, { ...init, headers: Object.fromEntries(headers), body });
    const said = parseJson(await response.text());
    const tokens = response.ok && isObject(said) ? said[counts.field] : undefined;
    throw new Counted(response.status, said, countOf(tokens));
  };
}

/** Google's requests have their model in the path alone. */
const withModel = (request: JsonObject, path: string): JsonObject => {
  const [model] = /(?:tuned)?[mM]odels\/[^/:]+(?=:\w+$)/.exec(decodeURIComponent(path)) ?? [];
  return model === undefined ? request : { model, ...request };
};

/** @throws LintelError `unimplemented` where the vendor does not */
export async function* countTokens(
  known: ChatModel,
  call: Call<"countTokens">,
  signal: AbortSignal,
): AsyncGenerator<readonly CountTokensResponse[]> {
  if (known.refused.has(counting)) throw countsNone();
  const options = await optionsOf(call, known, known.refused, signal);
  const headers = { ...options.headers, [marker]: "true" };
  // What it would answer is never there.
  const { lacks, tokens } = await Promise.resolve(
    known.model.doGenerate({ ...options, headers }),
  ).then(() => new Counted(501), countedIn(signal));
  if (lacks) known.learn(counting);
  if (tokens === undefined) throw countsNone();
  yield [tokenCount(tokens)];
}

const countedIn = (signal: AbortSignal) => (thrown: unknown) => {
  if (signal.aborted) throw signal.reason;
  for (let at = thrown; at instanceof Error; at = at.cause) if (at instanceof Counted) return at;
  throw failureOf(thrown);
};
