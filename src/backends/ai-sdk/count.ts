/**
 * Has a vendor count the tokens of a prompt. The common interface has no word for it: the provider
 * writes the request for an answer, which is sent to the vendor's other path.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { CountTokensResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../core/call.js";
import { tokenCount } from "../../core/chat-messages.js";
import { LintelError } from "../../core/errors.js";
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import type { ChatModel } from "./chat.js";
import type { Counts } from "./counts.js";
import { failureOf } from "./failure.js";
import type { Fetch } from "./load.js";
import { optionsOf } from "./request.js";

/** What came of a request for a number: thrown through the provider, which waits for an answer. */
class Counted extends Error {
  readonly status: number;
  readonly tokens: number | undefined;

  constructor(status: number, tokens?: number) {
    super("tokens were counted");
    this.status = status;
    this.tokens = tokens;
  }
}

const asked = new AsyncLocalStorage<Counts>();

/** A `fetch` that has tokens counted where that is what a request is made for. */
export const countingFetch = (fetch: Fetch): Fetch =>
  async function counting(input, init) {
    const counts = asked.getStore();
    if (!counts) return fetch(input, init);
    const url = new URL(String(input));
    const [answers, path] = counts.paths;
    const request = typeof init?.body === "string" ? parseJson(init.body) : undefined;
    if (!url.pathname.endsWith(answers) || !isObject(request)) throw new Counted(501);
    url.pathname = url.pathname.slice(0, -answers.length) + path;
    const body = JSON.stringify(counts.body(withModel(request, url.pathname)));
    const response = await fetch(url, { ...init, body });
    const said = parseJson(await response.text());
    const tokens = response.ok && isObject(said) ? said[counts.field] : undefined;
    throw new Counted(response.status, isCount(tokens) ? tokens : undefined);
  };

/** Google's requests have their model in the path alone. */
const withModel = (request: JsonObject, path: string): JsonObject => {
  const [model] = /(?:tuned)?[mM]odels\/[^/:]+(?=:\w+$)/.exec(decodeURIComponent(path)) ?? [];
  return model === undefined ? request : { model, ...request };
};

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32;

/** Stands among what a vendor refused for a model: it is not asked for that again. */
const refused = "count_tokens";

/** What says that there is no such path. */
const lacksPath: ReadonlySet<number> = new Set([404, 405, 501]);

/**
 * @param counts how the vendor does
 * @throws LintelError `unimplemented` where it does not
 */
export async function* countTokens(
  known: ChatModel,
  call: Call<"countTokens">,
  counts: Counts,
  signal: AbortSignal,
): AsyncGenerator<readonly CountTokensResponse[]> {
  if (known.refused.has(refused)) throw countsNone();
  const options = await optionsOf(call, known, known.refused, signal);
  const { status, tokens } = await asked.run(counts, () =>
    // What it would answer is never there.
    Promise.resolve(known.model.doGenerate(options)).then(
      () => new Counted(501),
      countedIn(signal),
    ),
  );
  if (lacksPath.has(status)) known.learn(refused);
  if (tokens === undefined) throw countsNone();
  yield [tokenCount(tokens)];
}

const countedIn = (signal: AbortSignal) => (thrown: unknown) => {
  if (signal.aborted) throw signal.reason;
  for (let at = thrown; at instanceof Error; at = at.cause) if (at instanceof Counted) return at;
  throw failureOf(thrown);
};

const countsNone = () => new LintelError("unimplemented", "the model server counts no tokens");
